import { execFile } from 'node:child_process'
import { readFile, realpath, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { findProgram } from '../distribution.ts'

const run = promisify(execFile)

/** The directory of the program `npm`: `…/npm/bin`. */
export async function npmDirectory(): Promise<string> {
  return dirname(await realpath(findProgram('npm')!))
}

/**
 * Options of a build that let npm in it do what it may on this machine: the registry, the authorities that it trusts
 * and the packages that it has fetched. As secrets, for an image keeps what it is told otherwise.
 */
export async function npmOptions(directory: string): Promise<string[]> {
  const own = await readFile(join(homedir(), '.npmrc'), 'utf8').catch(() => '')
  const authorities = (await npmSetting('cafile')) ?? process.env['NODE_EXTRA_CA_CERTS'] ?? null
  const lines = [own, `registry=${await npmSetting('registry')}`, 'cache=/npm-cache', 'prefer-offline=true']
  if (authorities !== null) lines.push('cafile=/run/secrets/ca')
  const npmrc = join(directory, 'npmrc')
  const ca = join(directory, 'ca.pem')
  await writeFile(npmrc, `${lines.join('\n')}\n`, { mode: 0o600 })
  await writeFile(ca, authorities === null ? '' : await readFile(authorities))
  const secrets = ['--secret', `id=npmrc,src=${npmrc}`, '--secret', `id=ca,src=${ca}`]
  return [...secrets, '--volume', `${await npmSetting('cache')}:/npm-cache`]
}

async function npmSetting(name: string): Promise<string | null> {
  const { stdout } = await run('npm', ['config', 'get', name])
  const value = stdout.trim()
  return value === 'null' || value === 'undefined' || value === '' ? null : value
}
