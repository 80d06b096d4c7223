/**
 * Loaded before a program (`--import`), which then stands still for good where HALT_AT says, and writes the file HALTED:
 * it is killed there. The program is the one that ships; what is changed is Node.js beneath it.
 */
import fs, { type PathLike } from 'node:fs'
import http, { type ClientRequest, ServerResponse } from 'node:http'
import { syncBuiltinESMExports } from 'node:module'
import { setTimeout } from 'node:timers/promises'
import type { HaltAt } from './halted-program.ts'

const { HALT_AT, HALTED } = process.env
// Not for what the program starts.
for (const name of ['NODE_OPTIONS', 'HALT_AT', 'HALTED']) delete process.env[name]

const { call, of, side, times = 1, once }: HaltAt = JSON.parse(HALT_AT!)
const pattern = new RegExp(of)
const { writeFileSync, existsSync } = fs
let left = times

const isHere = (here: HaltAt['call'], subject: unknown, now: HaltAt['side']) =>
  here === call && now === side && pattern.test(String(subject)) && --left === 0

function stand(here: HaltAt['call'], subject: unknown, now: HaltAt['side']): void {
  if (isHere(here, subject, now)) halt()
}

function halt(): void {
  writeFileSync(HALTED!, '')
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
}

async function untilThere(path: string): Promise<void> {
  while (!existsSync(path)) await setTimeout(20)
}

type AnyFunction = (this: unknown, ...args: any[]) => unknown

/** Halts before it is called, or once it has returned and what it promises is there. */
function watch(target: object, name: string, here: HaltAt['call'], subjectOf: (self: any, args: any[]) => unknown) {
  const holder = target as Record<string, AnyFunction>
  const original = holder[name]!
  holder[name] = function watched(...args) {
    const subject = subjectOf(this, args)
    if (isHere(here, subject, 'before')) {
      if (once !== undefined) return untilThere(once).then(halt)
      halt()
    }
    const result = original.apply(this, args)
    if (!(result instanceof Promise)) return (stand(here, subject, 'after'), result)
    return result.then((value) => {
      stand(here, subject, 'after')
      return value
    })
  }
}

const paths = new WeakMap<object, PathLike>()
const { open } = fs.promises
const probe = await open('/dev/null')
watch(Object.getPrototypeOf(probe) as object, 'write', 'write', (handle: object) => paths.get(handle))
await probe.close()
fs.promises.open = async (path, ...args) => {
  const handle = await open(path, ...args)
  paths.set(handle, path)
  return handle
}
watch(fs.promises, 'open', 'open', (_, [path]) => path)
watch(fs.promises, 'rename', 'rename', (_, [from]) => from)
watch(fs, 'renameSync', 'rename', (_, [from]) => from)
watch(fs, 'symlinkSync', 'symlink', (_, [, path]) => path)
watch(globalThis, 'fetch', 'fetch', (_, [url]) => url)
const { request } = http
http.request = (...args: any[]): ClientRequest => {
  stand('upload', args[0], 'before')
  const outgoing = (request as (...same: any[]) => ClientRequest)(...args)
  return outgoing.once('response', () => stand('upload', args[0], 'after'))
}
watch(ServerResponse.prototype, 'writeHead', 'answer', ({ req }) => req.url)
watch(ServerResponse.prototype, 'write', 'stream', ({ req }) => req.url)
syncBuiltinESMExports()
