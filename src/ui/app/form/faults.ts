import type { Problem } from '../../api/problem.ts'

export interface Faults {
  /** By names of fields. */
  fields: Readonly<Record<string, string>>
  /** What is about no field. */
  rest: string | null
}

export const NO_FAULTS: Faults = { fields: {}, rest: null }

/**
 * What a server says about an input, at the fields that it is about. `fields` are paths of the input: of an issue at
 * `slots.0.amount` the longest of them that it begins with. `codes` says which field an error without a place is about.
 */
export function placeFaults(
  { message, code, issues }: Pick<Problem, 'message' | 'code' | 'issues'>,
  fields: readonly string[],
  codes: Readonly<Record<string, string>> = {},
): Faults {
  const placed: Record<string, string> = {}
  const rest: string[] = []
  const put = (field: string | undefined, words: string, path: string) => {
    if (field === undefined) rest.push(path === '' ? words : `${path}: ${words}`)
    else placed[field] = [placed[field], words].filter(Boolean).join('; ')
  }
  for (const issue of issuesOf(message, issues)) {
    const field = fields
      .filter((each) => issue.path === each || issue.path.startsWith(`${each}.`))
      .toSorted((one, other) => other.length - one.length)[0]
    put(field, issue.message, issue.path)
  }
  if (Object.keys(placed).length === 0 && rest.length === 0) {
    put(code === null ? undefined : codes[code], message, '')
  }
  return { fields: placed, rest: rest.join('; ') || null }
}

/** A value that has not even the type is refused before the input is read, and the place is in the sentence. */
function issuesOf(message: string, issues: Problem['issues']): Problem['issues'] {
  if (issues.length > 0) return issues
  const [, path, words] = /at "input\.(.+?)"; (.+)$/.exec(message) ?? []
  return path === undefined ? [] : [{ path, message: words! }]
}
