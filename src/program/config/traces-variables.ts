import { z } from 'zod'
import { collector, yesOrNo } from './values.ts'
import { variable } from './variable.ts'

export const TRACES_VARIABLES = {
  tracesExporter: variable({
    name: 'OTEL_TRACES_EXPORTER',
    default: '`otlp` where an endpoint is set, else `none`',
    meaning: 'Where traces go: `otlp` or `none`.',
    unit: null,
    schema: z.enum(['otlp', 'none'], { error: 'must be `otlp` or `none`' }).optional(),
  }),
  tracesEndpoint: variable({
    name: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    default: 'http://localhost:4318',
    meaning: 'Collector that receives traces over OTLP/HTTP, as JSON at `/v1/traces`.',
    unit: null,
    schema: collector().optional(),
  }),
  tracesOwnEndpoint: variable({
    name: 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
    default: 'none',
    meaning: 'The same with its full path, for traces only.',
    unit: null,
    schema: collector().optional(),
  }),
  tracesDisabled: variable({
    name: 'OTEL_SDK_DISABLED',
    default: 'false',
    meaning: '`true`: no traces, whatever else is set.',
    unit: null,
    schema: yesOrNo().default(false),
  }),
}
