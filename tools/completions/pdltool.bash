# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Completion of pdltool in bash. Commands, options and their arguments are those that --help tells.

# _pdltool_help PROGRAM [COMMAND]: a line each: an option and what its argument is called; "+" and a word that may
# stand alone; "*" and FILE, DIR or the like, where such a name may stand; "=" with an option, and a value that it takes,
# which the help lists as "one of a, b".
_pdltool_help() {
    "$@" --help 2>/dev/null </dev/null | awk '
        function tell(name, argument) {
            if (!told[name, argument]++)
                print name, argument
        }
        function put(argument) {
            while (count > 0) {
                named[++names] = options[count]
                tell(options[count--], argument)
            }
        }
        function flush(    words, number, i, j) {
            gsub(/ +/, " ", described)
            if (match(described, /one of [a-z0-9, -]+/)) {
                number = split(substr(described, RSTART + 7, RLENGTH - 7), words, / *, */)
                for (i = 1; i <= number; i++) {
                    sub(/ $/, "", words[i])
                    for (j = 1; j <= names && words[i] ~ /^[a-z0-9-]+$/; j++)
                        tell("=" named[j], words[i])
                }
            }
            described = ""
            names = 0
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
        /^                +[^ -]/ { described = described " " $0; next }
        { flush() }
        /^ +-/ {
            sub(/^ +/, "")
            described = $0
            sub(/  .*/, "")
            described = substr(described, length($0) + 1)
            read($0, 0)
            next
        }
        /^  [a-z]+( [A-Z]+)?  / { tell("+", $1) }
        END { flush() }'
}

_pdltool() {
    local program=${1/#\~\//$HOME/} current=${COMP_WORDS[COMP_CWORD]} last=$((COMP_CWORD - 1))
    local help option argument words='' wanted='' values='' before='' taken='' i
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
    if ((last > 1)); then
        before=${COMP_WORDS[last]}
    fi
    while read -r option argument; do
        if [[ $option == "=$before" ]]; then
            values+=" $argument"
        elif [[ $option == "$before" && -n $argument ]]; then
            taken=$argument
        elif [[ $option == "="* ]]; then
            continue
        elif [[ $option == "*" ]]; then
            wanted+=$argument
        elif [[ $option == "+" ]]; then
            words+=" $argument"
        elif [[ $current == -* ]]; then
            words+=" $option"
        fi
    done <<<"$help"
    if [[ -n $taken ]]; then
        words=$values wanted=$taken
    fi
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
