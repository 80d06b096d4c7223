/** The registry that the tests of a run share. */
import { join } from 'node:path'
import { startRegistry } from '../containers/private-registry.ts'
import { serveRun } from '../run/run-service.ts'

await serveRun(async (directory) => {
  const registry = await startRegistry(join(directory, 'images'))
  return { description: { host: registry.host }, end: async () => registry[Symbol.asyncDispose]() }
})
