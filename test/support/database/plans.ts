import type { Database, Queryable } from '../../../src/store/database.ts'
import type { RecordedStatement } from './recorded-database.ts'

export interface PlanNode {
  'Node Type': string
  'Relation Name'?: string
  'Index Name'?: string
  'Actual Rows'?: number
  'Actual Loops'?: number
  'Rows Removed by Filter'?: number
  Plans?: PlanNode[]
}

function nodesOf(plan: PlanNode): PlanNode[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodesOf)]
}

/** All nodes of a statement's plan. The statement is not run. */
export async function planOf(db: Database, { text, values }: RecordedStatement): Promise<PlanNode[]> {
  const { rows } = await db.query<{ 'QUERY PLAN': { Plan: PlanNode }[] }>(`EXPLAIN (FORMAT JSON) ${text}`, values)
  return nodesOf(rows[0]!['QUERY PLAN'][0]!.Plan)
}

/** The plan for any values of a statement's parameters. */
export async function genericPlanOf(db: Database, text: string): Promise<PlanNode[]> {
  const { rows } = await db.query<{ 'QUERY PLAN': { Plan: PlanNode }[] }>(`EXPLAIN (GENERIC_PLAN, FORMAT JSON) ${text}`)
  return nodesOf(rows[0]!['QUERY PLAN'][0]!.Plan)
}

class RolledBack extends Error {}

/** The same with actual row counts. Writes of the statement are rolled back. */
export async function analysedPlanOf(db: Database, statement: RecordedStatement): Promise<PlanNode[]> {
  let nodes: PlanNode[] = []
  await db
    .transaction(async (tx) => {
      nodes = await analysedPlanIn(tx, statement)
      throw new RolledBack()
    })
    .catch((error: unknown) => {
      if (!(error instanceof RolledBack)) throw error
    })
  return nodes
}

/** The same in a transaction of the caller's. */
export async function analysedPlanIn(tx: Queryable, { text, values }: RecordedStatement): Promise<PlanNode[]> {
  const { rows } = await tx.query<{ 'QUERY PLAN': { Plan: PlanNode }[] }>(
    `EXPLAIN (ANALYZE, FORMAT JSON) ${text}`,
    values,
  )
  return nodesOf(rows[0]!['QUERY PLAN'][0]!.Plan)
}

/** Tables that are scanned completely. */
export function readWhole(nodes: readonly PlanNode[]): string[] {
  return nodes.flatMap((node) => (node['Node Type'] === 'Seq Scan' ? (node['Relation Name'] ?? []) : []))
}

/** Rows that were read from tables, including rows that were filtered out. */
export function rowsRead(nodes: readonly PlanNode[]): number {
  return nodes
    .filter((node) => node['Relation Name'] !== undefined && node['Node Type'].includes('Scan'))
    .map((node) => ((node['Actual Rows'] ?? 0) + (node['Rows Removed by Filter'] ?? 0)) * (node['Actual Loops'] ?? 0))
    .reduce((sum, count) => sum + count, 0)
}
