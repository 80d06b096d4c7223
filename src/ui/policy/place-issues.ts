import type { Field } from './policy-fields.ts'

/** What the server says, at the field that it is about; the rest is about no field. */
export function placeIssues(
  issues: readonly { path: string; message: string }[],
  message: string,
  fields: readonly Field[],
): { faults: Record<string, string>; rest: string | null } {
  // A value that has not even the type is refused before the input is read, and the place is in the sentence.
  const [, place, sentence] = /at "(.+?)"; (.+)$/.exec(message) ?? []
  const placed = issues.length > 0 || place === undefined ? issues : [{ path: place, message: sentence! }]
  const faults: Record<string, string> = {}
  const rest: string[] = []
  for (const issue of placed) {
    const [first, ...names] = issue.path.split('.')
    const within = names.length === 0 ? [first!] : names
    const field = fields.find(({ path }) => path === within[0])
    const [, ...deeper] = within
    const words = deeper.length === 0 ? issue.message : `${deeper.join('.')}: ${issue.message}`
    if (field) faults[field.name] = [faults[field.name], words].filter(Boolean).join('; ')
    else rest.push(`${issue.path}: ${issue.message}`)
  }
  return { faults, rest: placed.length === 0 ? message : rest.join('; ') || null }
}
