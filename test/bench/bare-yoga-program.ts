import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createSchema, createYoga } from 'graphql-yoga'

/**
 * Yoga with nothing around it: no token, no database, no limits. It answers `session(id)` of our own schema with one
 * constant, given as JSON in the first argument. Prints where it listens.
 */
const session = JSON.parse(process.argv[2]!) as object
const typeDefs = readFileSync(new URL('../../schema.graphql', import.meta.url), 'utf8')
const schema = createSchema({
  typeDefs,
  resolvers: { Query: { session: () => session } },
  // Interfaces and unions of our schema have no resolvers here, and nobody asks for them.
  resolverValidationOptions: { requireResolversForResolveType: 'ignore' },
})
const yoga = createYoga({ schema, logging: false, landingPage: false, graphiql: false })
const server = createServer((request, response) => void yoga(request, response))
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`))
process.once('SIGTERM', () => server.close().closeAllConnections())
