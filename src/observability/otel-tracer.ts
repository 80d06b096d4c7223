import {
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Link,
  type Span as OtelSpan,
  type SpanContext,
  type Tracer as OtelTracer,
} from '@opentelemetry/api'
import { parseTraceParent, setGlobalErrorHandler } from '@opentelemetry/core'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources'
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { within } from '../waiting/wait.ts'
import type { Logger } from './log.ts'
import type { Attributes, Span, TracedSession, Tracer } from './trace.ts'

/** Maximum number of links of a span. The span of a batch has a link to the trace of each of its sessions. */
const LINKS_MAX = 1_000
/** Spans not accepted within this time are lost: a stop must not be delayed by them. */
const STOP_WITHIN_MS = 3_000

/**
 * Sends spans in batches over OTLP/HTTP; while 2,048 are waiting, further ones are dropped. Endpoint, headers, sampler,
 * resource and batching follow the standard variables `OTEL_…`, which the SDK reads itself.
 */
export function createOtelTracer(options: { version: string; instanceId: string; log: Logger }): Tracer {
  const { version, instanceId, log } = options
  setGlobalErrorHandler((fault) => log.warn({ err: fault }, 'traces cannot be sent'))
  const resource = defaultResource()
    .merge(
      resourceFromAttributes({
        'service.name': 'reprise',
        'service.version': version,
        'service.instance.id': instanceId,
      }),
    )
    .merge(detectResources({ detectors: [envDetector] }))
  const provider = new BasicTracerProvider({
    resource,
    spanLimits: { linkCountLimit: LINKS_MAX },
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
  })
  const tracer = provider.getTracer('reprise', version)
  return {
    beginRequest(name, parent, attributes) {
      const context = contextOf(parent)
      const span = tracer.startSpan(
        name,
        { kind: SpanKind.SERVER, attributes: toOtelAttributes(attributes) },
        contextWith(context),
      )
      return wrapSpan(span)
    },
    recordBatch: (name, begunAt, sessions) => recordBatch(tracer, name, begunAt, sessions),
    async stop() {
      const sent = provider.shutdown().catch((error: unknown) => log.warn({ err: error }, 'traces cannot be sent'))
      await within(STOP_WITHIN_MS, sent)
    },
  }
}

function recordBatch(tracer: OtelTracer, name: string, startTime: Date, sessions: readonly TracedSession[]): void {
  const links = sessions.flatMap(linkTo)
  if (links.length === 0) return
  const attributes = { 'reprise.sessions': sessions.length }
  const batch = tracer.startSpan(name, { kind: SpanKind.CONSUMER, startTime, links, attributes }, ROOT_CONTEXT)
  const toBatch = { context: batch.spanContext() }
  for (const { context, attributes: ids = {} } of links) {
    const span = { kind: SpanKind.CONSUMER, startTime, links: [toBatch], attributes: ids }
    tracer.startSpan(`${name} session`, span, contextWith(context)).end()
  }
  batch.end()
}

function wrapSpan(span: OtelSpan): Span {
  return {
    traceParent: headerOf(span.spanContext()),
    note: (attributes) => void span.setAttributes(toOtelAttributes(attributes)),
    link: (sessions) => void span.addLinks(sessions.flatMap(linkTo)),
    end({ failed }) {
      if (failed) span.setStatus({ code: SpanStatusCode.ERROR })
      span.end()
    },
  }
}

/** Empty if the session's request was not sampled. */
function linkTo({ sessionId, chainId, attempt, traceParent, attributes = {} }: TracedSession): Link[] {
  const context = contextOf(traceParent ?? undefined)
  const ids = { 'reprise.session.id': sessionId, 'reprise.chain.id': chainId, 'reprise.attempt': attempt }
  return context && context.traceFlags & TraceFlags.SAMPLED
    ? [{ context, attributes: { ...ids, ...toOtelAttributes(attributes) } }]
    : []
}

function contextWith(context: SpanContext | null) {
  return context ? trace.setSpanContext(ROOT_CONTEXT, context) : ROOT_CONTEXT
}

/** @returns null if the header is missing or invalid; a new trace then starts */
function contextOf(header: string | undefined): SpanContext | null {
  const context = header === undefined ? null : parseTraceParent(header)
  return context && { ...context, isRemote: true }
}

function headerOf({ traceId, spanId, traceFlags }: SpanContext): string {
  const flags = (traceFlags & TraceFlags.SAMPLED).toString(16).padStart(2, '0')
  return `00-${traceId}-${spanId}-${flags}`
}

function toOtelAttributes(attributes: Attributes): Record<string, string | number | boolean | string[]> {
  return attributes as Record<string, string | number | boolean | string[]>
}
