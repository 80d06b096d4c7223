import { builder } from '../builder.ts'

/** Filters of scalar fields, with Prisma's names. Null values must be removed: Prisma would search for NULL. */

export const StringFilter = builder.inputType('StringFilter', {
  description: 'All given conditions must match. Case matters.',
  fields: (t) => ({
    equals: t.string({ description: 'Equals this text.' }),
    in: t.stringList({ description: 'Equals one of these texts.' }),
    contains: t.string({ description: 'Contains this text.' }),
    startsWith: t.string({ description: 'Starts with this text.' }),
    endsWith: t.string({ description: 'Ends with this text.' }),
  }),
})

export const DateTimeFilter = builder.inputType('DateTimeFilter', {
  description: 'All given conditions must match.',
  fields: (t) => ({
    gt: t.field({ type: 'DateTime', description: 'Later than this time.' }),
    gte: t.field({ type: 'DateTime', description: 'At or after this time.' }),
    lt: t.field({ type: 'DateTime', description: 'Before this time.' }),
    lte: t.field({ type: 'DateTime', description: 'At or before this time.' }),
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
  description: 'Direction of an order.',
  values: {
    ASC: { description: 'Smallest or oldest first.' },
    DESC: { description: 'Largest or newest first.' },
  } as const,
})
