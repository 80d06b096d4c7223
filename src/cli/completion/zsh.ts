import type { CompletedCommand, CompletedOption, CompletedValue } from './tree.ts'

/**
 * Creates the completion script for zsh: one function per command, which completes its options and calls the functions
 * of its subcommands.
 */
export function zshCompletion(commands: readonly CompletedCommand[]): string {
  return `#compdef reprise npx
${commands.map(functionOf).join('\n')}
${FUNCTIONS}`
}

function functionOf({ path, subcommands, options, arguments: places }: CompletedCommand): string {
  const specs = options.flatMap(specsOf)
  if (subcommands.length > 0) specs.push(`'1: :->command'`, `'*:: :->rest'`)
  else {
    specs.push(
      ...places.map((argument, place) => {
        return `'${argument.variadic ? '*' : place + 1}: :${actionOf(argument)}'`
      }),
    )
    if (places.length === 0) specs.push(`'*: :_files'`)
  }
  const described = subcommands.map(({ name, description }) => `'${name}:${description}'`)
  const branches = subcommands.map(({ name }) => `    ${name}) ${nameOf(path ? `${path} ${name}` : name)} ;;`)
  const dispatch = `
  case $state in
    command) local -a found=(${described.join(' ')}); _describe command found ;;
    rest) case $words[1] in
${branches.join('\n')}
    esac ;;
  esac`
  const program = path === '' ? PROGRAM : ''
  return `${nameOf(path)}() {${program}
  local state line
  _arguments -C ${specs.join(' ')}${subcommands.length > 0 ? dispatch : ''}
}`
}

/** Keeps the program and the whole line for the functions below, where `words` has only the words of their command. */
const PROGRAM = `
  local reprise_program=\${reprise_program:-\${(Q)words[1]}}
  local -a reprise_line=(\${(Q)words[2,CURRENT-1]})`

function specsOf(option: CompletedOption): string[] {
  const { flags, description, takesValue } = option
  const value = takesValue ? `:value:${actionOf(option)}` : ''
  // The value follows a space or an equals sign.
  const name = (flag: string) => (takesValue && flag.startsWith('--') ? `${flag}=` : flag)
  return flags.map((flag) => `'*${name(flag)}[${description}]${value}'`)
}

/**
 * Creates the action of a value. With a space before it, a function is called without the arguments that `_arguments`
 * adds.
 */
function actionOf({ values, kind }: CompletedValue): string {
  if (kind !== undefined) return ` _reprise_offer ${kind}`
  return values.length > 0 ? `(${values.join(' ')})` : '_files'
}

function nameOf(path: string): string {
  return path === '' ? '_reprise' : `_reprise_${path.replaceAll(/[ -]/g, '_')}`
}

const FUNCTIONS = `
_reprise_offer() {
  local -a found
  [[ -n $reprise_program ]] || return 1
  found=("\${(@f)$(\${~reprise_program} complete -- $1 "\${(Q)PREFIX}" $reprise_line 2>/dev/null)}")
  compadd -- \${found:#}
}

# What npx would run: of the packages here and above, or of a checkout.
_reprise_of_npx() {
  local directory=$PWD program
  while [[ -n $directory ]]; do
    for program in $directory/node_modules/.bin/reprise $directory/bin/reprise.mjs; do
      [[ -x $program ]] && { print -r -- $program; return }
    done
    directory=\${directory%/*}
  done
  whence -p reprise
}

_reprise_npx() {
  local at=2
  while [[ $words[at] == -* ]]; do (( at++ )); done
  if [[ $words[at] == reprise ]] && (( CURRENT > at )); then
    local reprise_program=$(_reprise_of_npx)
    shift $(( at - 1 )) words
    (( CURRENT -= at - 1 ))
    _reprise
  elif [[ -n $_reprise_npx_before ]]; then $_reprise_npx_before
  else
    (( CURRENT == at )) && compadd reprise
    _default
  fi
}

if [[ $funcstack[1] == _reprise ]]; then
  if [[ $service == npx ]]; then _reprise_npx; else _reprise "$@"; fi
else
  [[ \${_comps[npx]:-_reprise_npx} == _reprise* ]] || typeset -g _reprise_npx_before=$_comps[npx]
  compdef _reprise reprise
  compdef _reprise_npx npx
fi
`
