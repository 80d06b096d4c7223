import { Prisma } from '../../generated/prisma/client.ts'

/** A condition on one label of an object. */
export interface LabelCondition {
  key: string
  /** False: the object must not have this label. */
  present: boolean
  /** The label must have one of these values; null for any value. */
  values: readonly string[] | null
}

/**
 * Builds the condition that labels (a JSON object, never NULL if the object exists) fulfil all conditions in a
 * parameter, which is null if there are none.
 */
export function labelsMatch(labels: string, parameter: string): string {
  return `(${parameter}::jsonb IS NULL OR NOT EXISTS (
    SELECT FROM jsonb_to_recordset(${parameter}::jsonb) AS w(key text, present boolean, "values" jsonb),
      LATERAL (SELECT ${labels} AS labels) AS of
    WHERE (of.labels ? w.key AND (w."values" IS NULL OR w."values" ? (of.labels ->> w.key))) IS DISTINCT FROM w.present))`
}

/** The value of such a parameter. */
export function labelsParameter(conditions: readonly LabelCondition[] | null | undefined): string | null {
  return conditions && conditions.length > 0 ? JSON.stringify(conditions) : null
}

interface LabelWhere {
  AND?: LabelWhere[]
  OR?: LabelWhere[]
  labels?: { path: string[]; equals?: string | typeof Prisma.DbNull; not?: typeof Prisma.DbNull }
}

/** Builds the conditions on a JSON column `labels` for Prisma. None of them is ever NULL, so that NOT works. */
export function labelWhere(conditions: readonly LabelCondition[]): LabelWhere[] {
  return conditions.map(({ key, present, values }) => {
    const path = [key]
    const absent = { labels: { path, equals: Prisma.DbNull } }
    const exists = { labels: { path, not: Prisma.DbNull } }
    if (!present || values === null) return present ? exists : absent
    // Matches nothing: Prisma would drop an empty OR.
    if (values.length === 0) return { AND: [exists, absent] }
    return { AND: [exists, { OR: values.map((equals) => ({ labels: { path, equals } })) }] }
  })
}
