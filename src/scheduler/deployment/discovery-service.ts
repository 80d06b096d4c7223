import { randomUUID } from 'node:crypto'
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { prometheusTargets, type Service, traefikConfiguration } from '../../domain/deployment/discovery.ts'
import { DISCOVERY_INTERVAL_MS } from '../../domain/limits.ts'
import type { Logger } from '../../observability/log.ts'
import type { Metrics } from '../../observability/metrics.ts'
import type { Database } from '../../store/database.ts'
import { readServices } from '../../store/sql/deployment/routes.sql.ts'
import { type BackgroundService, defineMeasuredService, type RunReport } from '../background-service.ts'

/** Keeps the files of service discovery in a directory up to date. */
export function createDiscoveryService(context: {
  db: Database
  log: Logger
  metrics: Metrics
  directory: string
}): BackgroundService {
  const { db, directory } = context
  return defineMeasuredService(context, 'sync-discovery', DISCOVERY_INTERVAL_MS, () => writeDiscovery(db, directory))
}

/**
 * The contents of the files, by name. Traefik's directory provider does not read `.json`, so its file is YAML, of which
 * JSON is a subset. Traefik also treats files as templates; indented JSON never has two braces in a row, which would
 * start an expression.
 */
const FILES: Readonly<Record<string, (services: readonly Service[]) => object>> = {
  'prometheus.json': prometheusTargets,
  'traefik.yml': traefikConfiguration,
}

/**
 * Atomically replaces files that differ from what is published, so that readers never see a partial file. If a file
 * cannot be replaced, for example because the disk is full, the old one stays and the next pass tries again. Several
 * servers may write to one directory; the last pass wins, and has the newest data.
 *
 * @throws the errors of the file system
 */
export async function writeDiscovery(db: Database, directory: string): Promise<RunReport> {
  const services = await readServices(db, null)
  await mkdir(directory, { recursive: true })
  let done = 0
  for (const [name, render] of Object.entries(FILES)) {
    const text = `${JSON.stringify(render(services), null, 2)}\n`
    if (await replaceFile(join(directory, name), text)) done++
  }
  return { done }
}

async function replaceFile(path: string, text: string): Promise<boolean> {
  if ((await contentOf(path)) === text) return false
  const fresh = `${path}.${randomUUID()}.tmp`
  try {
    await writeFile(fresh, text, { flush: true })
    await rename(fresh, path)
  } catch (error) {
    await rm(fresh, { force: true })
    throw error
  }
  return true
}

/** @returns undefined if the file does not exist */
async function contentOf(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
