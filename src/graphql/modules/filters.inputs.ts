import { builder } from '../builder.ts'

/** Filters of scalars. Their fields are Prisma's, so `given` is all it takes. */

export const StringFilter = builder.inputType('StringFilter', {
  description: 'All that are given must match. Upper and lower case differ.',
  fields: (t) => ({
    equals: t.string({ description: 'Exactly this.' }),
    in: t.stringList({ description: 'Exactly one of these.' }),
    contains: t.string({ description: 'With this in it.' }),
    startsWith: t.string({ description: 'Beginning with this.' }),
    endsWith: t.string({ description: 'Ending with this.' }),
  }),
})

export const DateTimeFilter = builder.inputType('DateTimeFilter', {
  description: 'All that are given must match.',
  fields: (t) => ({
    gt: t.field({ type: 'DateTime', description: 'Later than this.' }),
    gte: t.field({ type: 'DateTime', description: 'Not before this.' }),
    lt: t.field({ type: 'DateTime', description: 'Before this.' }),
    lte: t.field({ type: 'DateTime', description: 'Not later than this.' }),
  }),
})

/** Null in a filter is "not given"; Prisma would look for NULL. */
export function given<T extends object>(filter: T): { [K in keyof T]?: NonNullable<T[K]> } {
  return Object.fromEntries(Object.entries(filter).filter(([, value]) => value != null)) as never
}
