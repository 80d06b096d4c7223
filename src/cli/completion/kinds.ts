import type { Command, Option } from 'commander'

/** What the placeholder of an argument or option may call, so that it is completed from a server. */
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
  'resubmission',
  'profile',
] as const

export type Kind = (typeof KINDS)[number]

const KNOWN: ReadonlySet<string> = new Set(KINDS)

export function isKind(word: string): word is Kind {
  return KNOWN.has(word)
}

/** Of `--on-agent <agent>`: agent. */
export function kindOfOption({ flags }: Pick<Option, 'flags'>): Kind | undefined {
  const [, word = ''] = /[<[]([a-z]+)(?:\.{3})?[\]>]/.exec(flags) ?? []
  return isKind(word) ? word : undefined
}

/** Of `<session>` and `[sessions...]`: session. */
export function kindOfArgument(argument: Command['registeredArguments'][number]): Kind | undefined {
  const word = argument.variadic ? argument.name().replace(/s$/, '') : argument.name()
  return isKind(word) ? word : undefined
}
