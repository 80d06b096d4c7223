import { NotFoundError } from '../../client/node/index.ts'
import { UsageError } from '../present-error.ts'

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
const PREFIX = /^[0-9a-f]{8}[0-9a-f-]*$/i

export interface Candidate {
  id: string
  /** Shown beside it, if there are several. */
  name?: string | null
}

/** How a kind of object is looked up. */
export interface Lookup {
  /** As in `There is no session …`. */
  noun: string
  /** Code of the error where there is none. */
  code: string
  /** Those whose ids begin so: at least so many of them, or all. */
  beginning(prefix: string, count: number): Promise<Candidate[]>
  /** The one of this name, where names are taken. */
  named?(name: string): Promise<Candidate | undefined>
}

/** Enough to see which one was meant. */
const SHOWN_MAX = 5

export function isId(text: string): boolean {
  return UUID.test(text)
}

/**
 * The id of what is given by id, by a unique beginning of it (at least 8 digits), or by name.
 * @throws NotFoundError, or UsageError with candidates for a beginning of several ids
 */
export async function findId(text: string, { noun, code, beginning, named }: Lookup): Promise<string> {
  if (isId(text)) return text
  const found = PREFIX.test(text) ? await beginning(text, SHOWN_MAX + 1) : []
  if (found.length > 1) throw ambiguous(text, found)
  const one = found[0] ?? (await named?.(text))
  if (one) return one.id
  throw new NotFoundError(code, `There is no ${noun} with the id${named ? ' or the name' : ''} ${text}.`)
}

/** For a text that stands for several. */
export function ambiguous(text: string, found: readonly Candidate[]): UsageError {
  const shown = found.slice(0, SHOWN_MAX).map(({ id, name }) => (name ? `${id} (${name})` : id))
  if (found.length > SHOWN_MAX) shown.push('…')
  return new UsageError(`More than one id begins with ${text}, or is called so: ${shown.join(', ')}`)
}
