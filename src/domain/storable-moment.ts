/** PostgreSQL's calendar has no year 0, and RFC 3339 writes years with four digits. */

export const STORABLE_MOMENT = 'must be a point in time in the years 1 to 9999'

export function isStorableMoment(time: Date): boolean {
  const year = time.getUTCFullYear()
  return year >= 1 && year <= 9_999
}
