import { builder } from '../builder.ts'

/** Filters of scalar fields, with Prisma's names. Null values must be removed: Prisma would search for NULL. */

export const StringFilter = builder.inputType('StringFilter', {
  description: 'All given conditions must match. Case matters.',
  fields: (t) => ({
    equals: t.string({ description: 'Exactly this.' }),
    in: t.stringList({ description: 'Exactly one of these.' }),
    contains: t.string({ description: 'Contains this.' }),
    startsWith: t.string({ description: 'Starts with this.' }),
    endsWith: t.string({ description: 'Ends with this.' }),
  }),
})

export const DateTimeFilter = builder.inputType('DateTimeFilter', {
  description: 'All given conditions must match.',
  fields: (t) => ({
    gt: t.field({ type: 'DateTime', description: 'Later than this.' }),
    gte: t.field({ type: 'DateTime', description: 'At or after this.' }),
    lt: t.field({ type: 'DateTime', description: 'Before this.' }),
    lte: t.field({ type: 'DateTime', description: 'At or before this.' }),
  }),
})

export const IntRange = builder.inputType('IntRange', {
  description: 'A range of whole numbers, ends included.',
  fields: (t) => ({
    min: t.int({ description: 'At least this.' }),
    max: t.int({ description: 'At most this.' }),
  }),
})

export const OrderDirection = builder.enumType('OrderDirection', {
  description: 'Which way.',
  values: { ASC: { description: 'Smallest, oldest first.' }, DESC: { description: 'Largest, newest first.' } } as const,
})
