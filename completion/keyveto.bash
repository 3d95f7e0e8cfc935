# SPDX-License-Identifier: ISC
# shellcheck shell=bash
#
# keyveto(1) for bash: bash-completion loads it by its name, once installed;
# without bash-completion, source it from ~/.bashrc.

# The options of a command. Those that take a value end in "=".
_keyveto_options()
{
	local judge='--json --all --quiet --config= --filter= --blocklist='

	case $1 in
	check) echo "$judge --weak --jobs= --help" ;;
	audit) echo "$judge --user= --logins --known= --deny-weak --yes --timeout= --sshd= --sshd-config= --help" ;;
	scan) echo "$judge --timeout= --jobs= --help" ;;
	doctor) echo '--json --prometheus --canary= --max-age= --sshd= --sshd-config= --config= --filter= --blocklist= --help' ;;
	report) echo '--html= --csv --sarif= --all --hosts= --max-age= --help' ;;
	why) echo '--config= --filter= --blocklist= --help' ;;
	confirm) echo '--log --accounts --url= --rate= --timeout= --json --quiet --dry-run --again --yes --state= --settings= --config= --filter= --blocklist= --help' ;;
	spki) echo '--pem --der --sha256 --xxh64 --help' ;;
	'filter create') echo '--entries= --fpr= --hashes= --length= --force --yes --help' ;;
	'filter add') echo '--no-compressed --ca --spki --proofs --yes --help' ;;
	'filter merge') echo '--fold --force --yes --help' ;;
	'filter diff') echo '--force --help' ;;
	'filter patch') echo '--force --yes --help' ;;
	'filter info') echo '--json --help' ;;
	'filter verify') echo '--help' ;;
	'filter explain') echo '--spki --help' ;;
	'list create') echo '--id= --name= --ca --proofs --force --yes --help' ;;
	'list add') echo '--id= --name= --ca --proofs --yes --help' ;;
	'list merge') echo '--force --yes --help' ;;
	'list diff') echo '--all --json --force --help' ;;
	'list patch') echo '--force --yes --help' ;;
	'list info') echo '--json --help' ;;
	'list verify' | 'list explain') echo '--help' ;;
	'proof verify') echo '--help' ;;
	'proof make') echo '--output= --force --help' ;;
	update) echo '--source= --lookup --force --dry-run --quiet --yes --settings= --config= --filter= --blocklist= --rollback --help' ;;
	publish) echo '--sign= --keep= --expires= --remove= --serial= --force --dry-run --quiet --help' ;;
	'sshd status') echo '--json --root= --sshd= --help' ;;
	'sshd enable')
		echo '--guard --pam --warn --yes --dry-run --json --reload --root='\
			'--sshd= --timeout= --help' ;;
	'sshd disable') echo '--dry-run --json --reload --root= --sshd= --help' ;;
	'config check') echo '--config= --help' ;;
	'config edit') echo '--yes --config= --help' ;;
	deny) echo '--since= --remove --yes --config= --help' ;;
	allow) echo '--until= --forever --remove --yes --config= --help' ;;
	filter | list | proof | sshd | config) echo '--help' ;;
	'') echo '--help --version' ;;
	esac
}

_keyveto_takes_value()
{
	[[ " $(_keyveto_options "$1") " == *" $2= "* ]]
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
	--blocklist | --config | --output | --sign | --settings | --canary | --sshd | --sshd-config | --known | --html | --sarif | --hosts) _keyveto_files "$2" ;;
	--root | --state) mapfile -t COMPREPLY < <(compgen -d -- "$2")
		compopt -o filenames 2>/dev/null || : ;;
	--user) mapfile -t COMPREPLY < <(compgen -u -- "$2") ;;
	esac
}

# Argument number $2 of a command, the first being 0.
_keyveto_argument()
{
	case $1 in
	check | why | confirm | report) _keyveto_files "$3" ;;
	audit)
		if [[ " ${COMP_WORDS[*]} " == *' --logins '* ]]; then
			_keyveto_files "$3"
			[[ journal != "$3"* ]] || COMPREPLY+=(journal)
		fi ;;
	scan) mapfile -t COMPREPLY < <(compgen -A hostname -- "$3") ;;
	spki | 'config check' | allow | deny) (($2 > 0)) || _keyveto_files "$3" ;;
	update) (($2 > 0)) || _keyveto_files "$3" .pkbf ;;
	'filter diff')
		case $2 in
		0 | 1) _keyveto_files "$3" .pkbf ;;
		2) _keyveto_files "$3" ;;
		esac ;;
	'filter patch')
		case $2 in
		0 | 2) _keyveto_files "$3" .pkbf ;;
		1) _keyveto_files "$3" ;;
		esac ;;
	publish)
		if (($2 > 0)); then
			_keyveto_files "$3"
		else
			mapfile -t COMPREPLY < <(compgen -d -- "$3")
			compopt -o filenames 2>/dev/null || :
		fi ;;
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
	'list diff' | 'list patch') (($2 > 2)) || _keyveto_files "$3" ;;
	'list explain') (($2 > 1)) || _keyveto_files "$3" ;;
	'list info' | 'list verify') (($2 > 0)) || _keyveto_files "$3" ;;
	filter) _keyveto_words 'create add merge diff patch info verify explain' "$3" ;;
	list) _keyveto_words 'create add merge diff patch info verify explain' "$3" ;;
	'proof verify') _keyveto_files "$3" ;;
	'proof make') (($2 > 0)) || _keyveto_files "$3" ;;
	proof) _keyveto_words 'verify make' "$3" ;;
	sshd) _keyveto_words 'status enable disable' "$3" ;;
	config) _keyveto_words 'check edit' "$3" ;;
	'') _keyveto_words 'check audit scan report why confirm spki filter list proof update publish sshd config deny allow doctor' "$3" ;;
	esac
}

_keyveto()
{
	local cur=${COMP_WORDS[COMP_CWORD]} word command='' option=''
	local -i i arguments=0
	local only_arguments=''

	COMPREPLY=()
	for ((i = 1; i < COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		# bash makes three words of --config=FILE.
		if [[ -n $option && $word == '=' ]]; then
			continue
		elif [[ -n $option ]]; then
			option=
		elif [[ -z $only_arguments && $word == -- ]]; then
			only_arguments=yes
		elif [[ -z $only_arguments && $word == --* ]]; then
			if _keyveto_takes_value "$command" "$word"; then
				option=$word
			fi
		elif [[ $command == '' ]]; then
			command=$word
		elif [[ $command == filter || $command == list || $command == proof || $command == sshd || $command == config ]]; then
			command="$command $word"
		else
			arguments+=1
		fi
	done
	if [[ -n $option ]]; then
		[[ $cur == '=' ]] && cur=
		_keyveto_value "$option" "$cur"
	elif [[ -z $only_arguments && $cur == -* ]]; then
		word=$(_keyveto_options "$command")
		_keyveto_words "${word//=/}" "$cur"
	else
		_keyveto_argument "$command" "$arguments" "$cur"
	fi
}

complete -F _keyveto keyveto
