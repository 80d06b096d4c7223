import { join } from 'node:path'
import type { Client } from '../../src/client/client.ts'
import { createClient } from '../../src/client/node/index.ts'
import { readAdminToken, startServer, type ServerProcess } from '../../src/cli/demo/server-process.ts'
import { temporaryDirectory } from '../support/run/temporary-directory.ts'

/** A server whose own agent submits to a cluster. */
export interface SlurmServer extends AsyncDisposable {
  readonly url: string
  readonly dataDir: string
  readonly client: Client
  /** Kills it, and starts it again. */
  restart(): Promise<void>
  ask<T>(query: string, variables?: object): Promise<T>
}

export async function startSlurmServer(cluster: { config: string; shared: string }): Promise<SlurmServer> {
  const dataDir = join(await temporaryDirectory('slurm-server'), 'data')
  const env = {
    REPRISE_EXECUTOR: 'slurm',
    REPRISE_SLURM_DIR: cluster.shared,
    REPRISE_SLURM_PARTITION: 'main',
    REPRISE_SLURM_POLL_MS: '500',
    // What the cluster has.
    REPRISE_SLOTS: '',
    REPRISE_SLURM_CAPACITY_MS: '1000',
    SLURM_CONF: cluster.config,
  }
  const start = () => startServer({ dataDir, port: 0, onLog: () => undefined, env })
  let process: ServerProcess = await start()
  const token = await readAdminToken(dataDir)
  let client = createClient({ url: process.url, token })
  return {
    get url() {
      return process.url
    },
    dataDir,
    get client() {
      return client
    },
    async restart() {
      await client[Symbol.asyncDispose]()
      await process.kill()
      process = await start()
      client = createClient({ url: process.url, token })
    },
    async ask<T>(query: string, variables: object = {}) {
      const response = await fetch(`${process.url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
        body: JSON.stringify({ query, variables }),
      })
      const { data, errors } = (await response.json()) as { data: T; errors?: unknown }
      if (errors !== undefined) throw new Error(JSON.stringify(errors))
      return data
    },
    async [Symbol.asyncDispose]() {
      await client[Symbol.asyncDispose]()
      await process.stop()
    },
  }
}
