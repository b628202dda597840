// Arguments to begin with: what a tool requires, filled in so that only what matters must be changed.
import type { Tool } from "../gen/orion/v1/tool_pb";
import { object } from "../lib/text";

interface Property {
  type?: string | string[];
  enum?: unknown[];
  default?: unknown;
}

function valueOf(name: string, property: Property, path: string): unknown {
  if (property.enum?.length) return property.enum[0];
  const type = Array.isArray(property.type) ? property.type[0] : property.type;
  switch (type) {
    case "boolean":
      return true;
    case "integer":
    case "number":
      return 1;
    case "array":
      return [];
    case "object":
      return {};
    default:
      return /path|source|destination|folder|directory/.test(name) ? path : "";
  }
}

/** Returns arguments of a tool: those of its own example, or with this path what its schema requires. */
export function exampleOf(tool: Tool, path?: string): Record<string, unknown> {
  const shown = object(tool.example);
  const schema = object(tool.argumentsSchema);
  const properties = (schema.properties ?? {}) as Record<string, Property>;
  const isArgument = (name: string) => name !== "device" && Object.hasOwn(properties, name);
  const own = path === undefined ? Object.fromEntries(Object.entries(shown).filter(([name]) => isArgument(name))) : {};
  const required = Array.isArray(schema.required) ? schema.required.filter((it): it is string => typeof it === "string") : [];
  const confirm = Object.hasOwn(properties, "confirm") ? ["confirm"] : [];
  const names = [...new Set([...Object.keys(own), ...required, ...confirm])];
  return Object.fromEntries(names.map((name) => [name, own[name] ?? valueOf(name, properties[name] ?? {}, path ?? ".")]));
}
