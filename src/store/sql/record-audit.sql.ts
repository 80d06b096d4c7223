import type { Queryable } from '../database.ts'

export interface AuditEntry {
  actor: string
  action: string
  projectId: string | null
  details: object
}

const SQL = `INSERT INTO audit_log (actor, action, project_id, details) VALUES ($1, $2, $3, $4)`

/** For changes made by several statements; call it in their transaction. */
export async function recordAudit(tx: Queryable, entry: AuditEntry): Promise<void> {
  await tx.query(SQL, [entry.actor, entry.action, entry.projectId, JSON.stringify(entry.details)])
}
