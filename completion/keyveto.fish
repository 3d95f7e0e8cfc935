# SPDX-License-Identifier: ISC
#
# keyveto(1) for fish. The commands and their options are those that --help prints,
# so that this file knows none of them.

# What --help says of a command.
function __keyveto_help
    command keyveto $argv --help 2>/dev/null
end

# Files whose names end in .pkbf, and directories; without any, all files.
function __keyveto_filters
    set -l found (__fish_complete_suffix .pkbf | string match -r '.*(?:\.pkbf|/)(?:\t.*)?$')
    if set -q found[1]
        printf '%s\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end

# Values of an option, of which --help prints this name.
function __keyveto_value
    switch $argv[1]
        case --filter
            __keyveto_filters
        case --user
            __fish_complete_users
        case '*'
            switch $argv[2]
                case DIRECTORY
                    __fish_complete_directories (commandline -ct)
                case FILE PATH KEY
                    __fish_complete_path (commandline -ct)
            end
    end
end

# Arguments: files, if the usage has one that is no option's.
function __keyveto_operand
    set -l usage (string replace -ra '\[--[^][]*(\[[^]]*\][^][]*)*\]' '' -- $argv[1])
    switch "$argv[2]"
        case scan
            __fish_print_hostnames
        case 'filter '{create,info,merge,verify} update
            __keyveto_filters
        case audit
            if contains -- --logins (commandline -opc)
                echo journal
                __fish_complete_path (commandline -ct)
            end
        case '*'
            if string match -qr '[A-Z]' -- (string replace "usage: keyveto $argv[2]" '' -- $usage)
                __fish_complete_path (commandline -ct)
            end
    end
end

function __keyveto
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l command
    set -e words[1]
    # A command is one word or two: "check", "filter add".
    set -l help (__keyveto_help)
    while string match -qr '^  [a-z]+ +[A-Z]' -- $help
        if not set -q words[1]
            if string match -q -- '-*' $current
                echo --help
                set -q command[1]; or echo --version
            else
                string replace -rf '^  ([a-z]+) +([A-Z].*)$' '$1\t$2' -- $help
            end
            return
        end
        set -a command $words[1]
        set -e words[1]
        set help (__keyveto_help $command)
    end
    set -q help[1]; or return
    if not contains -- -- $words
        if set -q words[1]
            set -l value (string match -r "^  $words[-1] ([A-Z][A-Z-]*) " -- $help)[2]
            if set -q value[1]
                __keyveto_value $words[-1] $value
                return
            end
        end
        if string match -q -- '-*' $current
            string replace -rf '^  (--[a-z0-9-]+)(?: [A-Z][A-Z-]*| \[[^]]*\]\.*)? +(.*)$' '$1\t$2' -- $help
            printf '%s\t%s\n' --help 'print a summary and exit'
            return
        end
    end
    __keyveto_operand $help[1] "$command"
end

complete -c keyveto -f -a '(__keyveto)'
