import fc from 'fast-check'

/** Values that the schema's scalars take, at the edges of what they take. */

export const hostileInteger: fc.Arbitrary<number> = fc.oneof(
  fc.constantFrom(0, -1, 1, 100, 101, 1_000_000, 2_147_483_647, -2_147_483_648),
  fc.integer(),
)

export const hostileDouble: fc.Arbitrary<number> = fc.oneof(
  fc.constantFrom(-0, -1, 1e-320, 5e-324, 0.1 + 0.2, 2 ** 31, 2 ** 53 + 2, 1e21, Number.MAX_VALUE, -Number.MAX_VALUE),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
)

export const hostileUuid: fc.Arbitrary<string> = fc.oneof(
  fc.uuid(),
  fc.uuid().map((id) => id.toUpperCase()),
  fc.constantFrom('00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
)

export const hostileMoment: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(
    '0001-01-01T00:00:00Z',
    '0001-01-01T00:00:00-23:59',
    '1582-10-10T00:00:00Z',
    '1883-11-18T12:00:00Z',
    '1970-01-01T00:00:00Z',
    '2038-01-19T03:14:08Z',
    '2026-03-29T02:30:00+01:00',
    '2026-01-01T00:00:00.123456789012345678901234567890Z',
    '9999-12-31T23:59:59.999Z',
    '9999-12-31T23:59:59+23:59',
  ),
  fc
    .date({ min: new Date('0001-01-01T00:00:00Z'), max: new Date('9999-12-31T23:59:59.999Z'), noInvalidDate: true })
    .map((date) => date.toISOString()),
)
