package upstream

// SkillsExtension is the name of the protocol's extension for skills
// (SEP-2640).
const SkillsExtension = "io.modelcontextprotocol/skills"
