import { PrismaPg } from '@prisma/adapter-pg'
import { RepriseError } from '../domain/errors.ts'

const CAST_PARAMETER = /CAST\((\$\d+)::text AS ("public"\."\w+")\)/g

/**
 * Prisma sends values of enums as text and casts them. The planner cannot evaluate this cast while it plans, so it cannot
 * prove that a condition implies that of a partial index, and reads the whole table. A parameter of the enum's own type
 * is a constant to it, as long as the statement is planned for its values.
 */
export function withEnumParameters(sql: string): string {
  return sql.includes('CAST($') ? sql.replace(CAST_PARAMETER, '$1::$2') : sql
}

/**
 * Whether a statement of `withEnumParameters` has such a parameter. It must be planned each time, not once for all
 * values: that is, it must not be prepared by name.
 */
export function hasEnumParameters(sql: string): boolean {
  return sql.includes('::"public"."')
}

export class ProvableEnumsFactory extends PrismaPg {
  override async connect() {
    const adapter = await super.connect()
    const queryRaw = adapter.queryRaw.bind(adapter)
    adapter.queryRaw = (query) => queryRaw({ ...query, sql: withEnumParameters(query.sql) }).catch(passOn)
    return adapter
  }
}

/** Prisma makes an error of its own of whatever has a code, so refusals of the pool pass through it as a cause. */
function passOn(error: unknown): never {
  throw error instanceof RepriseError ? new Error(error.message, { cause: error }) : error
}
