import type { CompletedCommand, CompletedValue } from './tree.ts'

/**
 * Creates the completion script for bash. It looks words up in tables: subcommands and options by the path of the
 * command, values by option, and arguments by position. In a table, `@session` means the names of all such objects on
 * the server.
 */
export function bashCompletion(commands: readonly CompletedCommand[]): string {
  const entry = (key: string, words: readonly string[]) => `    '${key}') echo '${words.join(' ')}' ;;`
  const subcommands = commands
    .filter((command) => command.subcommands.length > 0)
    .map((command) =>
      entry(
        command.path,
        command.subcommands.map(({ name }) => name),
      ),
    )
  const options = commands.map((command) =>
    entry(
      command.path,
      command.options.flatMap(({ flags }) => flags),
    ),
  )
  const values = commands.flatMap(({ path, options: own }) =>
    own
      .filter(({ takesValue }) => takesValue)
      .flatMap((option) => option.flags.map((flag) => entry(`${path} ${flag}`, wordsOf(option)))),
  )
  const places = commands.flatMap(({ path, arguments: own }) =>
    own.flatMap((argument, place) =>
      wordsOf(argument).length === 0
        ? []
        : [`    '${path} '${argument.variadic ? '*' : place}) echo '${wordsOf(argument).join(' ')}' ;;`],
    ),
  )
  return `# bash completion for reprise

_reprise_subcommands() {
  case "$1" in
${subcommands.join('\n')}
  esac
}

_reprise_options() {
  case "$1" in
${options.join('\n')}
  esac
}

_reprise_values() {
  case "$1" in
${values.join('\n')}
    *) return 1 ;;
  esac
}

_reprise_places() {
  case "$1" in
${places.join('\n')}
  esac
}
${FUNCTIONS}`
}

function wordsOf({ values, kind }: CompletedValue): readonly string[] {
  return kind === undefined ? values : [`@${kind}`]
}

/**
 * Functions of the script. Bash treats \`=\` as a separate word; the one of \`--option=value\` is left out. The script
 * runs in bash 3.2 and later.
 */
const FUNCTIONS = String.raw`
_reprise_offer() {
  [[ -n $program ]] && "$program" complete -- "$1" "$2" "${'$'}{words[@]:1}" 2>/dev/null
}

_reprise() {
  local program="${'$'}{COMP_WORDS[0]/#\~/$HOME}" words=() word
  for word in "${'$'}{COMP_WORDS[@]:0:COMP_CWORD}"; do [[ $word == = ]] || words+=("$word"); done
  word="${'$'}{COMP_WORDS[COMP_CWORD]}"
  _reprise_line "${'$'}{word#=}"
}

_reprise_line() {
  local current="$1" path='' option='' place=0 known='' word
  for word in "${'$'}{words[@]:1}"; do
    [[ $word == -- ]] && { COMPREPLY=($(compgen -f -- "$current")); return; }
    if [[ -n $option ]]; then option=''
    elif [[ $word == -* ]]; then _reprise_values "$path $word" >/dev/null && option=$word
    elif [[ $place == 0 && " $(_reprise_subcommands "$path") " == *" $word "* ]]; then path="${'$'}{path:+$path }$word"
    else place=$((place + 1)); fi
  done
  if [[ -n $option ]]; then known=$(_reprise_values "$path $option")
  elif [[ $current == -* ]]; then known=$(_reprise_options "$path")
  else
    known="$([[ $place == 0 ]] && _reprise_subcommands "$path") $(_reprise_places "$path $place")"
    [[ $known == *@* ]] || known+=" $(_reprise_options "$path")"
  fi
  [[ $known == *@* ]] && known="${'$'}{known%%@*} $(_reprise_offer "${'$'}{known##*@}" "$current")"
  if [[ -n $known ]]; then COMPREPLY=($(compgen -W "$known" -- "$current"))
  else COMPREPLY=($(compgen -f -- "$current")); fi
}
complete -F _reprise reprise

# What npx would run: of the packages here and above, or of a checkout.
_reprise_of_npx() {
  local directory=$PWD
  while [[ -n $directory ]]; do
    [[ -x $directory/node_modules/.bin/reprise ]] && { echo "$directory/node_modules/.bin/reprise"; return; }
    [[ -x $directory/bin/reprise.mjs ]] && { echo "$directory/bin/reprise.mjs"; return; }
    directory=${'$'}{directory%/*}
  done
  type -P reprise
}

_reprise_npx() {
  local at=1
  while [[ ${'$'}{COMP_WORDS[at]} == -* ]]; do at=$((at + 1)); done
  if [[ ${'$'}{COMP_WORDS[at]} == reprise && $COMP_CWORD -gt $at ]]; then
    compopt +o default 2>/dev/null
    local COMP_WORDS=("$(_reprise_of_npx)" "${'$'}{COMP_WORDS[@]:at+1}") COMP_CWORD=$((COMP_CWORD - at))
    _reprise
  elif [[ -n $_reprise_npx_before ]]; then "$_reprise_npx_before" "$@"
  elif [[ $COMP_CWORD == "$at" ]]; then COMPREPLY=($(compgen -W reprise -- "${'$'}{COMP_WORDS[at]}")); fi
}
_reprise_npx_before=$({ complete -p npx 2>/dev/null || :; } | sed -n 's/.* -F \([^ ]*\) .*/\1/p')
[[ $_reprise_npx_before == _reprise_npx ]] && _reprise_npx_before=''
complete -o default -F _reprise_npx npx
`
