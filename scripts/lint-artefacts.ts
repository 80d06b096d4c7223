import { spawnSync } from 'node:child_process'
import { createMetrics } from '../src/observability/metrics.ts'
import { createRest, type RestDependencies } from '../src/rest/rest.ts'

/**
 * Checks what other tools read, by the rules of those tools: the OpenAPI document with Redocly, and the metrics with
 * promtool if it is installed. Any warning is a fault.
 */

/** The part of `@redocly/openapi-core` that is used. */
interface Redocly {
  createConfig(config: { extends: string[] }): Promise<object>
  lintFromString(options: {
    source: string
    config: object
  }): Promise<{ severity: string; ruleId: string; message: string; location: { pointer?: string }[] }[]>
}

async function lintOpenApi(): Promise<string[]> {
  // Not a literal, so that the types of the package are not needed.
  const name: string = '@redocly/openapi-core'
  const { createConfig, lintFromString } = (await import(name)) as Redocly
  // The routes are described without being served.
  const document = createRest({} as RestDependencies).document()
  const config = await createConfig({ extends: ['recommended'] })
  const problems = await lintFromString({ source: JSON.stringify(document), config })
  return problems.map(
    ({ severity, ruleId, message, location }) => `OpenAPI: ${severity} ${ruleId} ${location[0]?.pointer}: ${message}`,
  )
}

async function lintMetrics(): Promise<string[]> {
  const page = await createMetrics({ process: true }).registry.metrics()
  const { error, status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], { input: page })
  if (error && 'code' in error && error.code === 'ENOENT') {
    console.log('metrics: not checked, because promtool is not installed')
    return []
  }
  const said = `${String(stdout)}${String(stderr)}`.trim()
  return status === 0 && said === '' ? [] : [`metrics: promtool exited with ${status}: ${said}`]
}

const faults = [...(await lintOpenApi()), ...(await lintMetrics())]
for (const fault of faults) console.log(fault)
process.exitCode = faults.length === 0 ? 0 : 1
