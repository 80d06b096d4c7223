/** The Docker or Podman that the tests of a run share; the name of its directory says which. */
import { basename, join } from 'node:path'
import type { EngineName } from '../containers/engines.ts'
import { startEngine } from '../containers/private-engine.ts'
import { registryOfRun, whyNoRegistry } from '../containers/private-registry.ts'
import { serveRun } from '../run/run-service.ts'

await serveRun(async (directory) => {
  const hub = whyNoRegistry() === null ? await registryOfRun(join(directory, '../..')) : undefined
  const name = basename(directory) as EngineName
  const engine = await startEngine(name, { ofRun: directory, bridge: true, ...(hub !== undefined && { hub }) })
  return { description: engine.place, end: async () => engine[Symbol.asyncDispose]() }
})
