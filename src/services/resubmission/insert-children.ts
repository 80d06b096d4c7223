import { creationIdReused, dependencyFailed, hasChild, type TargetRefusal } from '../../domain/resubmission/refuse.ts'
import { partition } from '../../domain/resubmission/order-dependents.ts'
import type { Queryable } from '../../store/database.ts'
import { readFailedChains } from '../../store/sql/resubmission/dependents.sql.ts'
import { readChildIds } from '../../store/sql/session/read-sessions.sql.ts'
import type { NewSession } from '../../store/sql/session/session-columns.sql.ts'
import { addSessions } from '../session/add-sessions.ts'

/**
 * Writes children: those of dependents only once no chain that they wait for has failed, so after those of the same
 * batch that reopen such a chain. Returns why the others were not written, by parent. As many statements as there are
 * steps from a dependent to what it waits for.
 */
export async function insertChildren(
  tx: Queryable,
  children: readonly NewSession[],
  dependents: ReadonlySet<string>,
): Promise<Map<string, TargetRefusal>> {
  const [after, first] = partition(children, ({ parentSessionId }) => dependents.has(parentSessionId!))
  const refused = await insert(tx, first)
  let left = after
  while (left.length > 0) {
    const failed = await readFailedChains(
      tx,
      left.flatMap(({ dependsOnChains }) => dependsOnChains),
    )
    const waitsFor = ({ dependsOnChains }: NewSession) => dependsOnChains.find((chainId) => failed.has(chainId))
    const [ready, later] = partition(left, (child) => waitsFor(child) === undefined)
    if (ready.length === 0) {
      for (const child of later) {
        const parentId = child.parentSessionId!
        refused.set(parentId, dependencyFailed(parentId, failed.get(waitsFor(child)!)!))
      }
      break
    }
    for (const [parentId, refusal] of await insert(tx, ready)) refused.set(parentId, refusal)
    left = later
  }
  return refused
}

/** Refused because of a quota, an existing child, or a creation id in use. */
async function insert(tx: Queryable, children: readonly NewSession[]): Promise<Map<string, TargetRefusal>> {
  const { inserted, refused } = await addSessions(tx, children, { actor: null, transact: (work) => work(tx) })
  const missing = children.filter(({ id }) => !inserted.has(id))
  const others = await readChildIds(
    tx,
    missing.map(({ parentSessionId }) => parentSessionId!),
  )
  return new Map(
    missing.map(({ id, parentSessionId: parentId, creationId }) => {
      const full = refused.get(id)
      const childId = others.get(parentId!)
      if (full) return [parentId!, { code: full.code, message: full.message }]
      if (childId) return [parentId!, hasChild(parentId!, childId)]
      return [parentId!, creationIdReused(creationId)]
    }),
  )
}
