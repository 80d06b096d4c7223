import type { StatusDeclaration } from './handlers.ts'

/** A handler's result for one deployment or route that it was given; one without a finding stays as it is. */
export interface Finding<Result extends string> {
  id: string
  result: Result
  /** Why, in words; null if there is nothing to say. */
  message: string | null
}

/** What the judge needs to know about a deployment or route. */
export interface Declared<Status extends string> {
  id: string
  status: Status
  /** The reason for its status, as last recorded. */
  statusReason: string | null
}

export interface DeclaredMove<Status extends string, Result extends string> {
  id: string
  from: Status
  to: Status
  outcome: Result
  message: string | null
}

/**
 * Judges without tries and timeouts: a result leads to the declared status, and null keeps the status. A message that
 * keeps the status is not recorded again if it is already the recorded reason.
 * @throws Error for a move that the transition table does not allow: the declaration contradicts it
 */
export function judgeDeclared<Name extends string, Status extends string, Result extends string>(
  declaration: StatusDeclaration<Name, Status, Result>,
  transitions: Readonly<Record<Status, readonly Status[]>>,
  things: readonly Declared<Status>[],
  findings: readonly Finding<Result>[],
): DeclaredMove<Status, Result>[] {
  const byId = new Map(findings.map((finding) => [finding.id, finding]))
  return things.flatMap(({ id, status, statusReason }) => {
    const finding = byId.get(id)
    if (!finding) return []
    const { result, message } = finding
    const to = declaration.leadsTo[result] ?? status
    if (to !== status && !transitions[status].includes(to)) {
      throw new Error(`${declaration.name}: ${status} → ${to} is no move that the table allows`)
    }
    if (to === status && message === statusReason) return []
    return [{ id, from: status, to, outcome: result, message }]
  })
}
