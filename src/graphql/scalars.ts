import { builder } from './builder.ts'
import { GraphQLError } from 'graphql'
import { isStorableMoment } from '../domain/storable-moment.ts'
import { isUuid } from './uuid.ts'

builder.scalarType('UUID', {
  description:
    'A UUID in its usual form, 8-4-4-4-12 hexadecimal digits. Either case is accepted; lower case is returned.',
  specifiedByURL: 'https://www.rfc-editor.org/rfc/rfc9562',
  parseValue(value) {
    if (typeof value === 'string' && isUuid(value)) return value.toLowerCase()
    throw new GraphQLError(`UUID cannot represent ${JSON.stringify(value)}`)
  },
  serialize: (value) => value,
})

const DATE_TIME = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/

builder.scalarType('DateTime', {
  description: 'A point in time in RFC 3339 format: `2026-01-31T12:00:00.000Z`. Returned in UTC, with milliseconds.',
  specifiedByURL: 'https://www.rfc-editor.org/rfc/rfc3339',
  parseValue(value) {
    const date = typeof value === 'string' && DATE_TIME.test(value) ? new Date(value) : undefined
    if (date && isRealDay(value as string, date)) return date
    throw new GraphQLError(`DateTime cannot represent ${JSON.stringify(value)}: an example is 2026-01-31T12:00:00Z`)
  },
  serialize: (value) => value.toISOString() as never,
})

/** `new Date` reads 31 February as 3 March. */
function isRealDay(text: string, date: Date): boolean {
  if (!isStorableMoment(date)) return false
  const [year, month, day] = text.slice(0, 10).split('-').map(Number)
  return new Date(Date.UTC(year!, month! - 1, day)).getUTCDate() === day
}
