const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

export function isUuid(text: string): boolean {
  return UUID.test(text)
}

/** Matches no row. Stands in for client ids that are not UUIDs, which PostgreSQL would refuse to compare. */
export const NO_UUID = '00000000-0000-0000-0000-000000000000'
