import type { CompletedCommand } from './tree.ts'

/** Words are looked up in a table by the path of the command, values in a table by option. */
export function bashCompletion(commands: readonly CompletedCommand[]): string {
  const words = commands.map(({ path, subcommands, options, values }) => {
    const all = [...subcommands.map(({ name }) => name), ...values, ...options.flatMap(({ flags }) => flags)]
    return `    '${path}') echo '${all.join(' ')}' ;;`
  })
  const values = commands.flatMap(({ path, options }) =>
    options
      .filter(({ takesValue }) => takesValue)
      .flatMap(({ flags, values: known }) =>
        flags.map((flag) => `    '${path} ${flag}') echo '${known.join(' ')}' ;;`),
      ),
  )
  const nested = commands.filter(({ subcommands }) => subcommands.length > 0).map(({ path }) => `'${path}'`)
  return `# bash completion for reprise
_reprise_words() {
  case "$1" in
${words.join('\n')}
  esac
}
_reprise_values() {
  case "$1" in
${values.join('\n')}
    *) return 1 ;;
  esac
}
_reprise() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" path='' word known
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [[ $word == -- ]] && { COMPREPLY=($(compgen -f -- "$current")); return; }
    case "$path" in ${nested.join('|')}) ;; *) continue ;; esac
    [[ " $(_reprise_words "$path") " == *" $word "* && $word != -* ]] && path="\${path:+$path }$word"
  done
  if known=$(_reprise_values "$path $previous"); then
    if [[ -n $known ]]; then COMPREPLY=($(compgen -W "$known" -- "$current"))
    else COMPREPLY=($(compgen -f -- "$current")); fi
    return
  fi
  COMPREPLY=($(compgen -W "$(_reprise_words "$path")" -- "$current"))
}
complete -F _reprise reprise
`
}
