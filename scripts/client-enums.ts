import { join } from 'node:path'
import { isEnumType } from 'graphql'
import { schema } from '../src/graphql/schema.ts'

export const CLIENT_ENUMS = join(import.meta.dirname, '../src/cli/options/api-enums.generated.ts')

/** The values of the schema's enums for the command line, in the order in which the server declares them. */
export function generateClientEnums(): string {
  const enums = Object.values(schema.getTypeMap()).filter((type) => isEnumType(type))
  const rows = enums
    .filter(({ name }) => !name.startsWith('__'))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .map(
      (type) =>
        `  ${type.name}: [${type
          .getValues()
          .map(({ name }) => `'${name}'`)
          .join(', ')}],`,
    )
  return [
    '/** The values of the enums of the API, as `npm run generate` takes them from the schema. */',
    'export const API_ENUMS = {',
    ...rows,
    '} as const',
    '',
  ].join('\n')
}
