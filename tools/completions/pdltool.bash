# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Completion of pdltool in bash. Commands, options and their arguments are those that --help tells.

# _pdltool_help PROGRAM [COMMAND]: a line each: an option and what its argument is called; "+" and a word that may
# stand alone; "*" and FILE, DIR or the like, where such a name may stand.
_pdltool_help() {
    "$@" --help 2>/dev/null </dev/null | awk '
        function tell(name, argument) {
            if (!told[name, argument]++)
                print name, argument
        }
        function put(argument) {
            while (count > 0)
                tell(options[count--], argument)
        }
        function read(text, usage,    words, number, i) {
            gsub(/[][|]/, " ; ", text)
            gsub(/[,=]/, " ", text)
            number = split(text, words, / +/)
            for (i = 1; i <= number; i++)
                if (words[i] ~ /^--?[a-z]/) {
                    options[++count] = words[i]
                } else if (count > 0) {
                    put(words[i] ~ /^[A-Z_]+$/ ? words[i] : "")
                    if (!usage)
                        return
                } else if (usage && words[i] ~ /^(FILE|DIR|CHAIN)/) {
                    tell("*", words[i])
                }
            put("")
        }
        /^usage:/ || /^       pdltool/ {
            word = $($1 == "usage:" ? 4 : 3)
            if (word ~ /^[a-z]+$/)
                tell("+", word)
            read($0, 1)
            next
        }
        /^ +-/ { sub(/^ +/, ""); sub(/  .*/, ""); read($0, 0); next }
        /^  [a-z]+( [A-Z]+)?  / { tell("+", $1) }'
}

_pdltool() {
    local program=${1/#\~\//$HOME/} current=${COMP_WORDS[COMP_CWORD]} last=$((COMP_CWORD - 1))
    local help option argument words='' wanted='' i
    # bash makes three words of --option=value
    if [[ $current == "=" ]]; then
        current=''
    elif [[ ${COMP_WORDS[last]} == "=" ]]; then
        last=$((last - 1))
    fi
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        help=$(_pdltool_help "$program")
    else
        help=$(_pdltool_help "$program" "${COMP_WORDS[1]}")
    fi
    for ((i = 2; i < COMP_CWORD; i++)); do
        if [[ ${COMP_WORDS[i]} == "--" ]]; then # what follows is not for pdltool
            help='* FILE'
        fi
    done
    while read -r option argument; do
        if ((last > 1)) && [[ $option == "${COMP_WORDS[last]}" && -n $argument ]]; then
            words='' wanted=$argument
            break
        elif [[ $option == "*" ]]; then
            wanted+=$argument
        elif [[ $option == "+" ]]; then
            words+=" $argument"
        elif [[ $current == -* ]]; then
            words+=" $option"
        fi
    done <<<"$help"
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
    case $current$wanted in
    -*) ;;
    *FILE* | *CHAIN*) mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$current") ;;
    *DIR*) mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -d -- "$current") ;;
    esac
    if [[ $current != -* && -n $wanted ]]; then
        compopt -o filenames 2>/dev/null # a slash after directories; fails outside of a completion
    fi
} && complete -F _pdltool pdltool
