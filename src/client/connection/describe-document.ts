import { ClientConfigurationError } from '../errors.ts'

/** The facts about a document that a client needs. Only the server validates it. */
export interface DocumentDescription {
  kind: 'query' | 'mutation' | 'subscription'
  /** The operation's name; its kind if it has none. */
  name: string
  /** The first field of the operation; null if a fragment comes first. */
  field: string | null
  /** Names of the variables that are arguments of that field, keyed by argument. */
  variables: ReadonlyMap<string, string>
}

/** Matches one token: a string, a comment, a name, a number, or any other single character. */
const TOKEN = /"""(?:\\"""|[^])*?"""|"(?:\\.|[^"\\\n\r])*"|#[^\n\r]*|[A-Za-z_]\w*|-?\d[\w.+-]*|\.\.\.|[^\s,\ufeff]/g
const CLOSING: Readonly<Record<string, string>> = { '{': '}', '(': ')', '[': ']' }
const KINDS: readonly string[] = ['query', 'mutation', 'subscription']

/**
 * Reads the facts without the parser of `graphql`, which would be a third of a client's bytes.
 * @throws ClientConfigurationError unless the document holds exactly one operation
 */
export function describeDocument(text: string): DocumentDescription {
  const tokens = (text.match(TOKEN) ?? []).filter((token) => !token.startsWith('#'))
  const [operation, another] = definitionsOf(tokens).filter(({ head }) => head[0] !== 'fragment')
  if (!operation || another) throw new ClientConfigurationError('A document must hold exactly one operation')
  const [kind = 'query', name = ''] = operation.head
  if (!isKind(kind))
    throw new ClientConfigurationError(`A document may hold only operations and fragments, but this one has ${kind}`)
  return { kind, name: /^\w/.test(name) ? name : kind, ...firstField(operation.selection) }
}

function isKind(word: string): word is DocumentDescription['kind'] {
  return KINDS.includes(word)
}

interface Definition {
  /** The tokens before its braces. */
  head: readonly string[]
  /** The tokens between its braces. */
  selection: readonly string[]
}

function definitionsOf(tokens: readonly string[]): Definition[] {
  const definitions: Definition[] = []
  for (let at = 0; at < tokens.length;) {
    const start = at
    while (at < tokens.length && tokens[at] !== '{') at = behind(tokens, at)
    const brace = at
    at = behind(tokens, at)
    definitions.push({ head: tokens.slice(start, brace), selection: tokens.slice(brace + 1, at - 1) })
  }
  return definitions
}

/** Returns the position after a token, or after the whole group that the token opens. */
function behind(tokens: readonly string[], at: number): number {
  const closing = CLOSING[tokens[at] ?? '']
  let next = at + 1
  if (closing === undefined) return next
  while (next < tokens.length && tokens[next] !== closing) next = behind(tokens, next)
  return next + 1
}

function firstField(selection: readonly string[]): Pick<DocumentDescription, 'field' | 'variables'> {
  const at = selection[1] === ':' ? 2 : 0
  const field = selection[at]
  if (field === undefined || field === '...') return { field: null, variables: new Map() }
  const variables = new Map<string, string>()
  const end = selection[at + 1] === '(' ? behind(selection, at + 1) : 0
  for (let argument = at + 2; argument < end - 1;) {
    const [name, , value, variable] = selection.slice(argument, argument + 4)
    if (value === '$') variables.set(name!, variable!)
    argument = value === '$' ? argument + 4 : behind(selection, argument + 2)
  }
  return { field, variables }
}

/** The facts that are needed to resume a subscription after its connection broke. */
export interface Subscription {
  name: string
  query: string
  /**
   * Name of the variable for the cursor of the last event. Null: the subscription begins with the present state each
   * time.
   */
  cursorVariable: string | null
  /**
   * Whether `complete` from the server means that nothing more will follow. If false, the server is only stopping. True
   * also means that without a cursor the subscription begins with everything that exists.
   */
  endsByItself: boolean
}

/** The subscriptions that end by themselves. `cursor` is true if the subscription can be resumed from a cursor. */
export const FINITE: Readonly<Record<string, { cursor: boolean }>> = {
  kernelLogs: { cursor: true },
  bulkActionProgress: { cursor: false },
  resubmissionProgress: { cursor: false },
  retryBacktestProgress: { cursor: false },
}

/** Describes a subscription. @throws ClientConfigurationError if it cannot be resumed without missing events */
export function describeSubscription(query: string): Subscription {
  const { kind, name, field, variables } = describeDocument(query)
  if (kind !== 'subscription') throw new ClientConfigurationError(`A ${kind} is not a stream: use \`request\``)
  const finite = field !== null && Object.hasOwn(FINITE, field) ? FINITE[field] : undefined
  const cursorVariable = variables.get('after') ?? null
  if (cursorVariable === null && finite?.cursor !== false)
    throw new ClientConfigurationError(`${name} cannot be resumed: its field needs the argument \`after: $after\``)
  return { name, query, cursorVariable, endsByItself: finite !== undefined }
}
