import type { CompletedCommand } from './tree.ts'

/** One line per word, with the condition that the preceding words are its command's path. */
export function fishCompletion(commands: readonly CompletedCommand[]): string {
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
