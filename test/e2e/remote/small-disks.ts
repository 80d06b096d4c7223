import { execFileSync } from 'node:child_process'
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect } from 'vitest'
import { eventually } from '../../support/eventually.ts'

/** File systems of a few MiB that are full when a test wants it, and programs that wait for it. */

const BALLAST = 'ballast'

/** Mounts a file system; all of them are detached at the end of the file. */
export function useSmallDisks(): (path: string, size: string) => void {
  const mounts: string[] = []
  afterAll(() => {
    for (const path of mounts) execFileSync('umount', ['--lazy', path])
  })
  return (path, size) => {
    mkdirSync(path, { recursive: true })
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size},mode=755`, 'reprise-test', path])
    mounts.push(path)
  }
}

/** Leaves about so much space. */
export function fillAllBut(path: string, bytes: number): void {
  const { bavail, bsize } = statfsSync(path)
  writeFileSync(join(path, BALLAST), Buffer.alloc(bavail * bsize - bytes, 1))
}

/** Fills the disk until not one more byte can be written. */
export function fill(path: string): void {
  const fd = openSync(join(path, BALLAST), 'w')
  try {
    for (let bytes = 65_536; bytes >= 1;) {
      try {
        writeSync(fd, Buffer.alloc(bytes, 1))
      } catch {
        bytes = Math.floor(bytes / 2)
      }
    }
  } finally {
    closeSync(fd)
  }
  expect(statfsSync(path).bavail).toBe(0)
}

export const empty = (path: string) => rmSync(join(path, BALLAST))

/** Writes a line, and then each time that a step is allowed; ends with 3 at the last. */
export function steps(directory: string): string[] {
  const script = `n=0; while [ $n -lt 3 ]; do n=$((n + 1)); echo step $n; echo $n >>${directory}/alive
    while [ ! -e ${directory}/go$n ]; do sleep 0.05; done; done; exit 3`
  return ['sh', '-c', script]
}
export const reached = (directory: string, step: number) =>
  eventually(
    () => existsSync(join(directory, 'alive')) && readFileSync(join(directory, 'alive'), 'utf8').includes(`${step}\n`),
  )

const canLimit = existsSync('/usr/bin/prlimit')
export const noLimits = canLimit ? '' : ' (skipped: there is no prlimit)'

/** Of a process that runs: which it has open it keeps. */
export function limitOpenFiles(pid: number, most: number): void {
  execFileSync('prlimit', ['--pid', String(pid), `--nofile=${most}:`])
}
export const openFilesOf = (pid: number) =>
  Number(/^Max open files\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/limits`, 'latin1'))![1])
