import pg from 'pg'

const INT8_OID = 20

/**
 * int8 is returned as a number, exact for counts and sizes; a bigint would not serialise to JSON. Ids that need more
 * than 53 bits are cast to text in the statement.
 */
export function parserFor(oid: number, format?: 'text' | 'binary'): (value: string) => unknown {
  if (oid === INT8_OID) return Number
  return pg.types.getTypeParser(oid, format) as (value: string) => unknown
}
