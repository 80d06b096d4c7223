import type { CompletedCommand, CompletedOption, CompletedValue } from './tree.ts'

/**
 * Creates the completion script for fish: one line per word, with the condition that the preceding words are the path
 * of its command.
 */
export function fishCompletion(commands: readonly CompletedCommand[]): string {
  const lines = commands.flatMap(({ path, subcommands, options, arguments: places }) => {
    const at = `-n '__reprise_at "${path}"'`
    const words = [
      ...subcommands.map(({ name, description }) => `${at} -f -a ${name} -d '${description}'`),
      ...places.map((argument, place) => {
        const known = valuesOf(argument)
        const condition = `-n '__reprise_at "${path}" ${argument.variadic ? '' : place}'`
        return known === '' ? '' : `${condition} -f -a '${known}'`
      }),
      ...options.map((option) => `${at} ${optionOf(option)}`),
    ]
    return words.filter(Boolean).map((word) => `complete -c reprise ${word}`)
  })
  const paths = commands.map(({ path }) => path).filter(Boolean)
  const flags = commands.flatMap(({ path, options }) =>
    options.filter(({ takesValue }) => takesValue).flatMap((option) => option.flags.map((flag) => `${path} ${flag}`)),
  )
  return `# fish completion for reprise

set -g __reprise_paths ${paths.map((path) => `'${path}'`).join(' ')}
set -g __reprise_valued ${flags.map((flag) => `'${flag}'`).join(' ')}
${FUNCTIONS}
${lines.join('\n')}
`
}

function optionOf(option: CompletedOption): string {
  const { flags, description, takesValue } = option
  const names = flags.map((flag) => (flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`))
  const known = valuesOf(option)
  const value = takesValue ? (known === '' ? ' -r' : ` -x -a '${known}'`) : ''
  return `${names.join(' ')}${value} -d '${description}'`
}

function valuesOf({ values, kind }: CompletedValue): string {
  return kind === undefined ? values.join(' ') : `(__reprise_offer ${kind})`
}

/**
 * Functions of the script. `__reprise_at PATH [PLACE]`: whether the words before are this command, and that many of its
 * arguments.
 */
const FUNCTIONS = String.raw`
function __reprise_at
  set -l path
  set -l place 0
  set -l option
  for word in (commandline -opc)[2..]
    set -l longer (string join -- ' ' $path $word)
    if test -n "$option"
      set option
    else if string match -q -- '-*' $word
      contains -- "$path $word" $__reprise_valued; and set option $word
    else if test $place -eq 0; and contains -- $longer $__reprise_paths
      set path $path $word
    else
      set place (math $place + 1)
    end
  end
  test "$path" = "$argv[1]"; and test (count $argv) -lt 2 -o "$argv[2]" = "$place"
end

function __reprise_offer
  set -l words (commandline -opc)
  set -q __reprise_program; or set -l __reprise_program $words[1]
  eval (string escape -- $__reprise_program) complete -- $argv[1] '(commandline -ct)' '$words[2..]' 2>/dev/null
end

# What npx would run: of the packages here and above, or of a checkout.
function __reprise_of_npx
  set -l directory $PWD
  while test -n "$directory"
    for program in $directory/node_modules/.bin/reprise $directory/bin/reprise.mjs
      test -x $program; and echo $program; and return
    end
    set directory (string replace -r '/[^/]*$' '' $directory)
  end
  command -v reprise
end

function __reprise_under_npx
  set -g __reprise_program (__reprise_of_npx)
  complete -C (commandline -cp | string replace -r '^\s*npx\s+(-\S+\s+)*' '')
  set -e __reprise_program
end
complete -c npx -n 'commandline -cp | string match -qr "^\s*npx\s+(-\S+\s+)*reprise\s"' -f -a '(__reprise_under_npx)'
complete -c npx -n 'test (count (commandline -opc)) -eq 1' -a reprise`
