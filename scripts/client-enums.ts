import { join } from 'node:path'
import { getNamedType, isEnumType, isInputObjectType, isListType, isNonNullType } from 'graphql'
import { schema } from '../src/graphql/schema.ts'

export const CLIENT_ENUMS = join(import.meta.dirname, '../src/cli/options/api-enums.generated.ts')

/**
 * Returns the values of the schema's enums for the command line, in the order in which the server declares them, and the
 * fields of a session's input with their types.
 */
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
    '/** The fields of `CreateSessionInput` with their types; `[]` for lists. */',
    'export const SESSION_INPUT_FIELDS = {',
    ...sessionInputFields(),
    '} as const',
    '',
  ].join('\n')
}

function sessionInputFields(): string[] {
  const input = schema.getType('CreateSessionInput')
  if (!isInputObjectType(input)) throw new Error('there is no CreateSessionInput')
  return Object.values(input.getFields()).map(({ name, type }) => {
    const isList = isListType(isNonNullType(type) ? type.ofType : type)
    return `  ${name}: '${isList ? '[]' : getNamedType(type).name}',`
  })
}
