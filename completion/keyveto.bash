# SPDX-License-Identifier: ISC
# shellcheck shell=bash
#
# keyveto(1) for bash: bash-completion loads it by its name, once installed;
# without bash-completion, source it from ~/.bashrc.

# The commands and their options are those that --help prints, so that this file
# knows none of them.
_keyveto_help()
{
	command keyveto "$@" --help 2>/dev/null
}

# The commands in what --help prints.
_keyveto_commands()
{
	sed -n 's/^  \([a-z]\{1,\}\) .*/\1/p' <<<"$1"
}

# The options in it. Those that take a value end in "=".
_keyveto_options()
{
	sed -n -e 's/^  \(--[a-z0-9-]*\) [A-Z].*/\1=/p' -e t \
		-e 's/^  \(--[a-z0-9-]*\) .*/\1/p' <<<"$1"
	echo --help
}

_keyveto_words()
{
	mapfile -t COMPREPLY < <(compgen -W "$1" -- "$2")
}

# Files whose names end in $2, if that is given, and directories. If there are
# none, readline looks by itself, at all names and behind quotes.
_keyveto_files()
{
	local cur=$1 suffix=${2-}

	if [[ -n $suffix ]]; then
		mapfile -t COMPREPLY < <(
			compgen -f -X "!*$suffix" -- "$cur"
			compgen -d -- "$cur"
		)
	else
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
	fi
	# Not known to whoever calls this outside of a completion.
	if ((${#COMPREPLY[@]} > 0)); then
		compopt -o filenames 2>/dev/null
	else
		compopt -o default 2>/dev/null
	fi
	return 0
}

_keyveto_value()
{
	case $1 in
	--filter) _keyveto_files "$2" .pkbf ;;
	--blocklist | --config | --settings | --canary | --sshd | --sshd-config) _keyveto_files "$2" ;;
	--state) mapfile -t COMPREPLY < <(compgen -d -- "$2")
		compopt -o filenames 2>/dev/null || : ;;
	--user) mapfile -t COMPREPLY < <(compgen -u -- "$2") ;;
	esac
}

# Argument number $2 of a command, the first being 0.
_keyveto_argument()
{
	case $1 in
	check | why | confirm) _keyveto_files "$3" ;;
	audit)
		if [[ " ${COMP_WORDS[*]} " == *' --logins '* ]]; then
			_keyveto_files "$3"
			[[ journal != "$3"* ]] || COMPREPLY+=(journal)
		fi ;;
	scan) mapfile -t COMPREPLY < <(compgen -A hostname -- "$3") ;;
	spki | allow | deny) (($2 > 0)) || _keyveto_files "$3" ;;
	update) (($2 > 0)) || _keyveto_files "$3" .pkbf ;;
	'filter merge') _keyveto_files "$3" .pkbf ;;
	'filter create' | 'filter info' | 'filter verify')
		(($2 > 0)) || _keyveto_files "$3" .pkbf ;;
	'filter add')
		if (($2 > 0)); then
			_keyveto_files "$3"
		else
			_keyveto_files "$3" .pkbf
		fi ;;
	'filter explain')
		case $2 in
		0) _keyveto_files "$3" .pkbf ;;
		1) _keyveto_files "$3" ;;
		esac ;;
	'list merge' | 'list create' | 'list add') _keyveto_files "$3" ;;
	'list explain') (($2 > 1)) || _keyveto_files "$3" ;;
	'list info' | 'list verify') (($2 > 0)) || _keyveto_files "$3" ;;
	'proof verify') _keyveto_files "$3" ;;
	esac
}

_keyveto()
{
	local cur=${COMP_WORDS[COMP_CWORD]} word option='' help options
	local -a command=()
	local -i i arguments=0
	local only_arguments=''

	COMPREPLY=()
	# A command is one word or two: "check", "filter add".
	help=$(_keyveto_help)
	for ((i = 1; i < COMP_CWORD; i++)); do
		[[ -n $(_keyveto_commands "$help") ]] || break
		command+=("${COMP_WORDS[i]}")
		help=$(_keyveto_help "${command[@]}")
	done
	word=$(_keyveto_commands "$help")
	if [[ -n $word ]]; then
		[[ $cur != -* ]] || word=--help
		[[ $cur != -* || $i -gt 1 ]] || word+=' --version'
		_keyveto_words "$word" "$cur"
		return
	fi
	options=$(_keyveto_options "$help")
	for (( ; i < COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		# bash makes three words of --config=FILE.
		if [[ -n $option && $word == '=' ]]; then
			continue
		elif [[ -n $option ]]; then
			option=
		elif [[ -z $only_arguments && $word == -- ]]; then
			only_arguments=yes
		elif [[ -z $only_arguments && $word == --* ]]; then
			[[ $'\n'$options$'\n' != *$'\n'"$word="$'\n'* ]] || option=$word
		else
			arguments+=1
		fi
	done
	if [[ -n $option ]]; then
		[[ $cur == '=' ]] && cur=
		_keyveto_value "$option" "$cur"
	elif [[ -z $only_arguments && $cur == -* ]]; then
		_keyveto_words "${options//=/}" "$cur"
	else
		_keyveto_argument "${command[*]}" "$arguments" "$cur"
	fi
}

complete -F _keyveto keyveto
