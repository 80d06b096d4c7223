import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { findProgram } from '../../support/distribution.ts'
import type { BenchGround } from '../ground.ts'

export interface Redis {
  version: string
  socket: string
  /** Where its append-only file is. */
  aofDirectory: string
  stop(): Promise<void>
}

const AOF = 'appendonlydir'
/** As durable as a commit of PostgreSQL: no command is answered before the disk has it. Nothing is rewritten meanwhile. */
const DURABLE = ['--appendonly', 'yes', '--appendfsync', 'always', '--auto-aof-rewrite-percentage', '0', '--save', '']
const STARTED_WITHIN_MS = 10_000

/** The distribution's Redis, or Valkey, for this bench alone; null if neither is installed. */
export async function startRedis({ dir, signal }: BenchGround): Promise<Redis | null> {
  const program = findProgram('redis-server') ?? findProgram('valkey-server')
  if (program === null) return null
  const { stdout } = await promisify(execFile)(program, ['--version'])
  const directory = join(dir, 'redis')
  await mkdir(directory)
  const socket = join(directory, 'redis.sock')
  const listening = ['--port', '0', '--unixsocket', socket, '--dir', directory, '--appenddirname', AOF]
  const child = spawn(program, [...listening, ...DURABLE], { stdio: ['ignore', 'ignore', 2] })
  const deadline = performance.now() + STARTED_WITHIN_MS
  while (!existsSync(socket)) {
    signal.throwIfAborted()
    if (child.exitCode !== null || performance.now() > deadline) throw new Error(`${program} did not start`)
    await sleep(20)
  }
  const [name, version] = [stdout.split(' ')[0]!, /v=(\S+)/.exec(stdout)?.[1]]
  return {
    version: `${name} ${version}`,
    socket,
    aofDirectory: join(directory, AOF),
    async stop() {
      child.kill('SIGTERM')
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
    },
  }
}
