import type { CompletedCommand, CompletedOption } from './tree.ts'

export const SHELLS = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion }

/** Words are looked up in a table by the path of the command, values in a table by option. */
function bashCompletion(commands: readonly CompletedCommand[]): string {
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

/** One line per word, with the condition that the preceding words are its command's path. */
function fishCompletion(commands: readonly CompletedCommand[]): string {
  const lines = commands.flatMap(({ path, subcommands, options, values }) => {
    const condition = `-n '__reprise_at "${path}"'`
    const words = [
      ...subcommands.map(({ name, description }) => `-f -a ${name} -d '${description}'`),
      ...values.map((value) => `-f -a ${value}`),
      ...options.map(({ flags, description, takesValue, values: known }) => {
        const names = flags.map((flag) => (flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`))
        const value = takesValue ? (known.length > 0 ? ` -x -a '${known.join(' ')}'` : ' -r') : ''
        return `${names.join(' ')}${value} -d '${description}'`
      }),
    ]
    return words.map((word) => `complete -c reprise ${condition} ${word}`)
  })
  const paths = commands.map(({ path }) => path).filter(Boolean)
  return `# fish completion for reprise

function __reprise_at
  set -l path
  for word in (commandline -opc)[2..]
    set -l longer (string join ' ' $path $word)
    contains -- $longer ${paths.map((path) => `'${path}'`).join(' ')}; and set path $path $word
  end
  test "$path" = "$argv[1]"
end
${lines.join('\n')}
`
}

/** One function per command, which completes its options and calls those of its subcommands. */
function zshCompletion(commands: readonly CompletedCommand[]): string {
  return `#compdef reprise
${commands.map(functionOf).join('\n')}

if [[ $funcstack[1] == _reprise ]]; then _reprise "$@"; else compdef _reprise reprise; fi
`
}

function functionOf({ path, subcommands, options, values }: CompletedCommand): string {
  const specs = options.flatMap(specsOf)
  if (subcommands.length > 0) specs.push(`'1: :->command'`, `'*:: :->rest'`)
  else specs.push(values.length > 0 ? `'1: :(${values.join(' ')})'` : `'*: :_files'`)
  const described = subcommands.map(({ name, description }) => `'${name}:${description}'`)
  const branches = subcommands.map(({ name }) => `    ${name}) ${nameOf(path ? `${path} ${name}` : name)} ;;`)
  const dispatch = `
  case $state in
    command) local -a found=(${described.join(' ')}); _describe command found ;;
    rest) case $words[1] in
${branches.join('\n')}
    esac ;;
  esac`
  return `${nameOf(path)}() {
  local state line
  _arguments -C ${specs.join(' ')}${subcommands.length > 0 ? dispatch : ''}
}`
}

function specsOf({ flags, description, takesValue, values }: CompletedOption): string[] {
  const action = values.length > 0 ? `(${values.join(' ')})` : '_files'
  return flags.map((flag) => `'*${flag}[${description}]${takesValue ? `:value:${action}` : ''}'`)
}

function nameOf(path: string): string {
  return path === '' ? '_reprise' : `_reprise_${path.replaceAll(/[ -]/g, '_')}`
}
