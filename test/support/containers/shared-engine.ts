import { join } from 'node:path'
import { inject } from 'vitest'
import { runService } from '../run/run-service.ts'
import { type ContainerEngine, engineAt, type EngineName, type EnginePlace } from './engines.ts'
import { registryOfRun } from './private-registry.ts'

const PROGRAM = join(import.meta.dirname, '../programs/shared-engine-program.ts')

/**
 * The engine of this name that all files of a run share: it has a bridge, and takes images without a registry from the
 * shared one. It is never stopped, paused or filled; tests look only at containers and images of their own.
 */
export async function sharedEngine(name: EngineName): Promise<ContainerEngine> {
  return engineAt(await runService<EnginePlace>(inject('runDirectory'), name, PROGRAM))
}

/** The registry of the run; the engines take images without a registry from it. */
export const sharedRegistry = async (): Promise<string> => registryOfRun(inject('runDirectory'))
