import type { CompletedCommand, CompletedOption } from './tree.ts'

/** One function per command, which completes its options and calls those of its subcommands. */
export function zshCompletion(commands: readonly CompletedCommand[]): string {
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
