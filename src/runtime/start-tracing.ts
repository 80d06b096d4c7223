import packageJson from '../../package.json' with { type: 'json' }
import type { Config } from '../config.ts'
import type { Logger } from '../observability/log.ts'
import { NO_TRACER, type Tracer } from '../observability/trace.ts'

/** Tracing code is loaded only if traces are exported. */
export async function startTracing(config: Config, instanceId: string, log: Logger): Promise<Tracer> {
  if (!tracesWanted(config)) return NO_TRACER
  const { createOtelTracer } = await import('../observability/otel-tracer.ts')
  return createOtelTracer({ version: packageJson.version, instanceId, log })
}

function tracesWanted({ tracesExporter, tracesEndpoint, tracesOwnEndpoint, tracesDisabled }: Config): boolean {
  if (tracesDisabled) return false
  return (tracesExporter ?? ((tracesEndpoint ?? tracesOwnEndpoint) ? 'otlp' : 'none')) === 'otlp'
}
