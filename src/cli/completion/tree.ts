import type { Command, Option } from 'commander'

/**
 * Completions at one position: fixed words, or the objects of a kind on the server. With neither, nothing is offered.
 */
export interface CompletedValue {
  values: readonly string[]
  kind: Kind | undefined
}

export interface CompletedOption extends CompletedValue {
  flags: string[]
  description: string
  /** Whether a value follows. */
  takesValue: boolean
}

export interface CompletedArgument extends CompletedValue {
  /** Whether it takes all arguments that follow. */
  variadic: boolean
}

export interface CompletedCommand {
  /** Words of the command, separated by spaces: `retry now`. Empty for the program itself. */
  path: string
  description: string
  subcommands: { name: string; description: string }[]
  options: CompletedOption[]
  arguments: CompletedArgument[]
}

/** Lists the program and all its commands, without nesting. */
export function commandTree(program: Command, path: readonly string[] = []): CompletedCommand[] {
  const visible = program.commands.filter((command) => command.name() !== 'help')
  const own: CompletedCommand = {
    path: path.join(' '),
    description: firstSentence(program.description()),
    subcommands: visible.map((command) => ({
      name: command.name(),
      description: firstSentence(command.description()),
    })),
    options: [
      ...program.options.map((option) => ({
        flags: [option.short, option.long].filter((flag) => flag != null),
        description: firstSentence(option.description),
        takesValue: option.required || option.optional,
        values: option.argChoices ?? [],
        kind: kindOfOption(option),
      })),
      { flags: ['-h', '--help'], description: 'show help', takesValue: false, values: [], kind: undefined },
    ],
    arguments: program.registeredArguments.map((argument) => ({
      values: argument.argChoices ?? [],
      kind: kindOfArgument(argument),
      variadic: argument.variadic,
    })),
  }
  return [own, ...visible.flatMap((command) => commandTree(command, [...path, command.name()]))]
}

/** Puts the text on one line, without characters that shells interpret. */
function firstSentence(text: string): string {
  return text.replaceAll(/[`'"$\\[\]:]/g, '').replaceAll(/\s+/g, ' ')
}

/** Placeholders of arguments and options that are completed from a server. */
export const KINDS = [
  'session',
  'chain',
  'deployment',
  'schedule',
  'agent',
  'group',
  'project',
  'domain',
  'user',
  'token',
  'webhook',
  'action',
  'profile',
] as const

export type Kind = (typeof KINDS)[number]

const KNOWN: ReadonlySet<string> = new Set(KINDS)

export function isKind(word: string): word is Kind {
  return KNOWN.has(word)
}

/** Returns the kind of an option: `agent` for `--on-agent <agent>`. */
function kindOfOption({ flags }: Pick<Option, 'flags'>): Kind | undefined {
  const [, word = ''] = /[<[]([a-z]+)(?:\.{3})?[\]>]/.exec(flags) ?? []
  return isKind(word) ? word : undefined
}

/** Returns the kind of an argument: `session` for `<session>` and `[sessions...]`. */
function kindOfArgument(argument: Command['registeredArguments'][number]): Kind | undefined {
  const word = argument.variadic ? argument.name().replace(/s$/, '') : argument.name()
  return isKind(word) ? word : undefined
}
