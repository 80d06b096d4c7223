import { expect, test } from 'vitest'
import { readSourceFiles } from './source-files.ts'

/**
 * Server and agent start programs with their own rights, often those of root. Each is found by `systemProgram`, or is a
 * shell or Node by its absolute path: never by the PATH of whoever started them.
 */

/** Programs that run with the rights of the person who typed the command. */
const OF_THE_PERSON: Record<string, string> = {
  'src/cli/ui.ts': 'opens a browser',
  'src/cli/collect-files.ts': 'lists files of the directory that is uploaded',
  'src/cli/demo/server-process.ts': 'starts this program',
}

/** Where the program comes as an argument. */
const BY_ARGUMENT: Record<string, string> = {
  'src/agent/executors/process/exec/exec-in-kernel.ts': '/bin/sh, by way of enter-kernel',
  'src/agent/executors/process/fence/fork-server.ts': '/bin/sh, by way of fork-server-entry',
  'src/agent/executors/process/isolation/select-isolation.ts': 'the command lines of kernels',
  'src/store/postgres/run-as.ts': 'programs of the embedded PostgreSQL, by their absolute path',
}

const STARTS = /\b(?:spawn|spawnSync|execFile|execFileSync|execute|fork|promisify\(execFile\))\(\s*([^,\s)][^,]*)/g
const SAFE = /^(systemProgram\(|'\/bin\/sh'|process\.execPath)/

const files = (await readSourceFiles()).filter(({ text }) => text.includes("from 'node:child_process'"))

test('every program that server and agent start is found where only root can put one', () => {
  const started = files.flatMap(({ path, text }) =>
    [...text.matchAll(STARTS)].map(([, program]) => ({ path, program: program! })),
  )
  expect(started.length).toBeGreaterThan(15)
  const others = started.filter(({ path, program }) => !SAFE.test(program) && !(path in OF_THE_PERSON))
  expect([...new Set(others.map(({ path }) => path))].toSorted()).toEqual(Object.keys(BY_ARGUMENT).toSorted())
})

test('each of them gets an environment that is chosen for it', () => {
  const inherits = files.flatMap(({ path, text }) =>
    path in OF_THE_PERSON
      ? []
      : [...text.matchAll(STARTS)].filter(({ index }) => !/\benv\b/.test(callAt(text, index))).map(() => path),
  )
  expect(inherits).toEqual([])
})

/** The text of a call, to its closing bracket. */
function callAt(text: string, start: number): string {
  let depth = 0
  for (let end = text.indexOf('(', start); end < text.length; end++) {
    if (text[end] === '(') depth++
    if (text[end] === ')' && --depth === 0) return text.slice(start, end)
  }
  return text.slice(start)
}

test('no program is started through a shell of its own, or with the PATH as it is', () => {
  expect(files.filter(({ text }) => /\bshell: true|\bexecSync?\(/.test(text)).map(({ path }) => path)).toEqual([])
  const bare = files.filter(({ text, path }) => /process\.env\['PATH'\]/.test(text) && !(path in OF_THE_PERSON))
  expect(bare.map(({ path }) => path)).toEqual([])
})
