import { buildClientSchema, getIntrospectionQuery, parse, validate, type IntrospectionQuery } from 'graphql'
import * as operations from '../../client/operations.generated.ts'
import type { Client } from '../../client/node/index.ts'

/**
 * Parts of this client's operations that the server's schema does not have, one per line. @throws ApiError if
 * introspection is refused
 */
export async function unknownToServer(client: Client): Promise<string[]> {
  const schema = buildClientSchema(await client.request<IntrospectionQuery>(getIntrospectionQuery()))
  const documents = Object.entries(operations).filter(([name]) => name.endsWith('Document'))
  return documents.flatMap(([name, document]) => {
    const faults = validate(schema, parse(String(document)))
    return faults.length === 0 ? [] : [`${name.replace(/Document$/, '')}: ${faults[0]!.message}`]
  })
}
