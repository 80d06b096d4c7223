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
  description: 'All given conditions must match.',
  fields: (t) => ({
    gt: t.int({ description: 'Greater than this number.' }),
    gte: t.int({ description: 'At least this number.' }),
    lt: t.int({ description: 'Less than this number.' }),
    lte: t.int({ description: 'At most this number.' }),
    min: t.int({ description: 'At least this.', deprecationReason: 'Use `gte`.' }),
    max: t.int({ description: 'At most this.', deprecationReason: 'Use `lte`.' }),
  }),
})

export const LabelFilter = builder.inputType('LabelFilter', {
  description: 'All given conditions must match. Without conditions, the label must exist.',
  fields: (t) => ({
    key: t.string({ required: true, description: 'Key of the label.' }),
    exists: t.boolean({ description: 'True: the label exists, with any value; false: it does not exist.' }),
    equals: t.string({ description: 'It has this value.' }),
    in: t.stringList({ description: 'It has one of these values.' }),
  }),
})

export const IdOrName = builder.inputType('IdOrName', {
  description: 'Names one object. Give exactly one of the fields.',
  isOneOf: true,
  fields: (t) => ({
    id: t.field({ type: 'UUID', description: 'Its id.' }),
    name: t.string({ description: 'Its name.' }),
  }),
})

/** The condition on the columns `id` and `name`. */
export function isNamed({ id, name }: typeof IdOrName.$inferInput): { id: string } | { name: string } {
  return id == null ? { name } : { id }
}

export const OrderDirection = builder.enumType('OrderDirection', {
  description: 'Direction of an order.',
  values: {
    ASC: { description: 'Smallest or oldest first.' },
    DESC: { description: 'Largest or newest first.' },
  } as const,
})
