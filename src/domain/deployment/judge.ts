import type { StatusDeclaration } from './handlers.ts'

/** What a handler says of one thing that it was given; a thing that it says nothing of stays as it is. */
export interface Finding<Result extends string> {
  id: string
  result: Result
  /** Why, in words; null where there is nothing to say. */
  message: string | null
}

/** What the judge needs of a thing. */
export interface Declared<Status extends string> {
  id: string
  status: Status
  /** Why it is as it is, as last said. */
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
 * The plain judgement, without tries and timeouts: a result leads where the handler declares, and null keeps the
 * status. What keeps it is not said again while the thing says it already.
 * @throws Error for a move that the table does not allow: a declaration contradicts it
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
